"""Tally of a bulk action: an attempt goes on from the position in its progress, which is data and no sentence."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from workbell.bulk.tally import BulkTally, tally_from

counts = st.integers(0, 10**9)
errors = st.lists(st.fixed_dictionaries({"run": st.uuids().map(str), "error": st.text(max_size=50)}), max_size=5)
tallies = st.builds(BulkTally, st.uuids().map(str), counts, counts, counts, counts, errors.map(tuple))


@given(tallies, st.text(max_size=20))
def test_the_next_attempt_goes_on_with_the_same_tally(tally: BulkTally, message: str) -> None:
    """Whatever the message says."""
    progress = {"done": tally.matched, "total": None, "message": message, "bulk": tally.position()}
    assert tally_from(msgspec.json.decode(msgspec.json.encode(progress)), "start") == tally


def test_the_first_attempt_begins_at_its_own_id() -> None:
    assert tally_from(None, "start") == BulkTally("start")
    assert tally_from({"done": 1, "total": None, "message": "1 done, 0 skipped, 0 failed; at the end"}, "start") == (
        BulkTally("start")
    )
