"""The limits of D1: checked on our side, and batches cut only where each part is whole."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from workbell.errors import StoreError
from workbell.model.audit import AuditEntry
from workbell.stores.access.audit import add_entries
from workbell.stores.d1.batches import (
    MOST_BODY,
    MOST_PARAMETERS,
    MOST_STATEMENTS,
    MOST_TEXT,
    MOST_VALUE,
    reading,
    writing,
)
from workbell.stores.database import Conflict, Rows, Statement
from workbell.stores.event_rows import EVENT
from workbell.stores.notifications.notifications import NOTIFICATION
from workbell.stores.rows import HISTORY
from workbell.stores.runs.lanes import LANE

START = datetime(2030, 1, 1, tzinfo=UTC)
NOTE = Statement("note_service", {"name": "service/a", "value": "x"})
LANES = Statement("add_lanes", {"rows": Rows(LANE, [[1, "default", "default", "a", None, None]]), "now": START})
CLAIM = Statement(
    "claim",
    dict.fromkeys(("to_status", "from_status", "worker", "lease_until", "now", "token", "lane", "rank", "quota"), 1),
)
SCHEDULES = Statement("services")


def told(text: str) -> list[Any]:
    return ["id", "default", 1, text, START, None]


def tell(*rows: list[Any]) -> Statement:
    return Statement("add_notifications", {"rows": Rows(NOTIFICATION, rows)})


def sizes(calls: list[Any]) -> list[int]:
    return [sum(each.number for each in call) for call in calls]


def test_integers_go_as_texts_in_lists() -> None:
    values = {"tenant": "t", "user_id": 2**63 - 1, "now": datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), "ids": ["a"]}
    ((sent,),) = writing([Statement("read_some", values)])
    assert sent.values == {"tenant": "t", "user_id": [str(2**63 - 1)], "now": ["1000000"], "ids": '["a"]'}
    ((sent,),) = writing([Statement("mark_alone", {"id": "x", "token": None, "yes": True})])
    assert sent.values == {"id": "x", "token": None, "yes": ["1"]}


def test_only_what_a_query_uses_is_sent() -> None:
    ((sent,),) = writing([NOTE._replace(values={**NOTE.values, "more": 1})])
    assert set(sent.values) == {"name", "value"}


def test_reads_are_cut_anywhere() -> None:
    assert sizes(reading([SCHEDULES] * 100)) == [40, 40, 20]


def test_what_must_be_whole_is_refused() -> None:
    assert sizes(writing([NOTE] * MOST_STATEMENTS)) == [MOST_STATEMENTS]
    with pytest.raises(StoreError, match=r"41 statements, and D1 takes 40 .* nothing was written\. Hand in fewer"):
        writing([NOTE] * (MOST_STATEMENTS + 1))


def test_a_guard_counts_as_two() -> None:
    guard = SCHEDULES._replace(exactly=1)
    assert sizes(writing([guard] * 20)) == [40]
    with pytest.raises(StoreError, match="42 statements"):
        writing([guard] * 21)


def test_what_stands_for_itself_is_cut() -> None:
    assert sizes(writing([CLAIM] * 90)) == [40, 40, 10]
    assert writing([]) == [[]]


def test_an_audit_entry_goes_with_the_first_part_of_its_action() -> None:
    entry = add_entries([AuditEntry(id="x", tenant="a", at=START, actor="token:ann", action="webhooks.replay")])
    first, *others = writing([entry, *[LANES] * MOST_STATEMENTS])
    assert first[0].query == "add_audit"
    assert sizes([first, *others]) == [MOST_STATEMENTS, 1]
    lanes, action = writing([entry, *[LANES] * MOST_STATEMENTS, NOTE])
    assert {each.query for each in lanes} == {"add_lanes"}
    assert [each.query for each in action] == ["add_audit", "note_service"]


def test_a_run_that_has_ended_is_copied_whole() -> None:
    """It leaves the live table and enters history in one batch, wherever that is cut."""
    gone = Statement("unload_run", {"id": "x"})
    ended = Statement("load_finished", dict.fromkeys(HISTORY, "x"))
    calls = writing(
        [NOTE._replace(query="load_key", values=dict.fromkeys(("tenant", "key", "run", "until"), "x"))]
        + [
            gone,
            ended,
        ]
        * 60
    )
    assert sum(sizes(calls)) == 121
    for call in calls:
        assert call[0].query != "load_finished"


def test_an_event_is_copied_with_whether_it_was_fanned_out() -> None:
    """Else it could be fanned out here as well."""
    event = Statement("add_event", dict.fromkeys(EVENT, "x"))
    settled = Statement("settle_event", {"id": "x", "at": START})
    calls = writing([event, event, settled] * 40)
    assert sum(sizes(calls)) == 120
    assert all(call[0].query == "add_event" for call in calls)


def test_lanes_go_ahead_of_a_large_call() -> None:
    calls = writing([LANES] * 50 + [NOTE] * 2)
    assert [call[0].query for call in calls] == ["add_lanes", "add_lanes", "note_service"]
    assert [each.position for each in calls[-1]] == [50, 51]


def test_rows_too_large_for_one_value_are_several_statements_of_the_batch() -> None:
    (call,) = writing([NOTE, tell(*(told("x" * 1000) for _ in range(2500)))])
    assert [each.position for each in call] == [0, 1, 1, 1, 1]
    assert all(len(each.values["rows"].encode()) <= MOST_VALUE for each in call[1:])


def test_a_value_that_is_too_large_is_refused() -> None:
    with pytest.raises(
        StoreError, match=r"add_notifications: a value of 1,000,\d+ bytes, and D1 takes 1,000,000; keep"
    ):
        writing([tell(told("x" * MOST_VALUE))])


def test_a_call_that_is_too_large_is_refused() -> None:
    with pytest.raises(StoreError, match=rf"bytes, and the bridge takes {MOST_BODY:,}"):
        writing([tell(*(told("x" * 900_000) for _ in range(5)))])


def test_composed_sql_has_limits_too() -> None:
    words = [f"p_{'a' * place}" for place in range(101)]
    text = "SELECT r.id FROM workbell_runs r WHERE " + " AND ".join(f"r.id <> :{word}" for word in words)
    with pytest.raises(StoreError, match=f"101 parameters, and D1 takes {MOST_PARAMETERS}"):
        reading([Statement("search", dict.fromkeys(words, "x"), text=text)])
    with pytest.raises(StoreError, match=f"more than {MOST_TEXT:,} bytes"):
        reading([Statement("search", {}, text=f"SELECT r.id FROM workbell_runs r WHERE r.id <> '{'x' * MOST_TEXT}'")])


def test_composed_sql_begins_with_select() -> None:
    """The bridge takes no other: what begins like this cannot write."""
    text = "WITH r AS MATERIALIZED (SELECT r.id FROM workbell_runs r) SELECT r.id FROM r"
    ((sent,),) = reading([Statement("search", {}, text=text)])
    assert sent.text is not None
    assert sent.text.startswith("SELECT * FROM (WITH r")
    assert sent.wire == ["search", {}, None, sent.text]


def test_what_answers_nothing_cannot_be_one_row() -> None:
    with pytest.raises(Conflict) as caught:
        writing([NOTE._replace(exactly=1)])
    assert caught.value.query == "note_service"
    assert sizes(writing([NOTE._replace(exactly=0)])) == [1]
