"""Any input, any path: SQLite finds what the rules in Python find (workbell.stores.matching)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from workbell.model.ids import new_id
from workbell.model.input_fields import EXACT, read_fields
from workbell.model.run_page import Counted
from workbell.stores.matching import matches_all
from workbell.stores.port import Filter, FoundRuns, Store
from workbell.stores.sqlite.store import SqliteStore
from workbell.testing.contracts.making import ids, request

EXAMPLES = 500 if os.environ.get("WORKBELL_SOAK") else 20
names = st.sampled_from(["a", "b", "0", "é", "a b", "$", "[0]", "A", "'"])
texts = st.sampled_from(["", "1", "true", "null", "a", "A", "é", "\ufffd", '"', "\\", "%", "\n", "👩"]) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=5
)
numbers = (
    st.sampled_from([0, 1, -1, 1.0, -0.0, 0.1, 1e15, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)])
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(-EXACT, EXACT, allow_nan=False, exclude_min=True, exclude_max=True)
)
scalars = st.none() | st.booleans() | texts | numbers
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=3), max_leaves=6
)
inputs = st.lists(st.dictionaries(names, values, max_size=3), min_size=1, max_size=6)


def paths_of(input: Any, above: str = "") -> list[tuple[str, Any]]:
    """Every path that leads to a scalar, with that: so that there is something to be found."""
    found = []
    for name, value in input.items():
        path = f"{above}.{name}" if above else name
        if isinstance(value, dict):
            found += paths_of(value, path)
        elif not isinstance(value, list):
            found.append((path, value))
    return found


@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow])
@given(given_inputs=inputs, extra=st.lists(st.tuples(names, scalars), max_size=2), data=st.data())
def check(subject: Store, given_inputs: list[Any], extra: list[Any], data: st.DataObject) -> None:
    tenant = new_id()
    new = [
        request(tenant=tenant, input_text=msgspec.json.encode(input).decode(), user_number=place % 2)
        for place, input in enumerate(given_inputs)
    ]
    subject.runs.add(new)
    newest_first = [one.run for one in reversed(new)]
    there = [pair for input in given_inputs for pair in paths_of(input)]
    others = [*extra, *((path, int(value)) for path, value in there if isinstance(value, bool))]
    for place, (path, value) in enumerate([*there, *others]):
        wanted = Filter(tenant, input=read_fields({path: value}))
        found = [run for run in newest_first if matches_all(run, wanted)]
        assert subject.reports.search(wanted) == FoundRuns(found, None)
        assert subject.reports.count(wanted) == Counted(len(found), False)
        assert found or place >= len(there)
    if len(there) > 1:
        some = data.draw(st.lists(st.sampled_from(there), min_size=2, max_size=3))
        wanted = Filter(tenant, input=read_fields(dict(some)), user_id=data.draw(st.sampled_from([None, 0])), limit=2)
        found = [run for run in newest_first if matches_all(run, wanted)]
        assert ids(subject.reports.search(wanted).runs) == ids(found[:2])


def test_sqlite_finds_what_the_rules_find(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "search.db")
    store.check()
    check(store)
    store.close()
