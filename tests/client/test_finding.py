"""Finding runs among many: by time, target, event and input; by pages; and how many there are."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from threading import Thread
from typing import Any

import pytest

from tests.client.conftest import finish, take
from tests.support.fresh_store import fresh_store
from tests.support.inside.features import run_verbs as finding
from tests.support.inside.making import add, ids, request
from tests.support.inside.stores import Database, Filter, LaneChoice, SqlStore, search
from tests.support.inside.values import Counted, new_id
from workbell import InvalidOption, ScheduleNotFound, Status, Workbell


def test_runs_by_input_and_time(bell: Workbell, send: Any) -> None:
    before = datetime.now(UTC) - timedelta(seconds=5)
    old = send.enqueue("a", 1)
    finish(bell, take(bell)[0])
    twice, other = send.enqueue("a", 2), send.enqueue("b", 2)
    bell.for_tenant("b").enqueue("send", {"to": "a"})

    def ids(**wanted: Any) -> list[str]:
        found = [run.id for run in bell.runs(**wanted)]
        assert bell.count_runs(**wanted) == Counted(len(found), False)
        assert [run.id for run in bell.page_of_runs(**wanted).runs] == found
        return found

    assert ids(input={"to": "a"}) == [twice.id, old.id]
    assert ids(input={"to": "a", "copies": 2.0}) == [twice.id]
    assert ids(input={"to": "a"}, status="succeeded") == [old.id]
    assert ids(input={"copies": 2}, since=before) == [other.id, twice.id]
    assert ids(input={"copies": 2}, until=before) == ids(until=before) == []
    assert ids(job="send", status=None, tag=None, input=None, since=None) == [other.id, twice.id, old.id]
    assert ids(event=new_id()) == ids(target="press") == []


def test_a_page_leads_to_the_next(bell: Workbell, send: Any) -> None:
    made = [run.id for run in bell.enqueue_many(send.request("a", number % 2) for number in range(7))]
    found: list[str] = []
    cursor: str | None = None
    for size in (3, 1):
        page = bell.page_of_runs(input={"copies": 0}, limit=3, before=cursor)
        assert len(page.runs) == size
        found += [run.id for run in page.runs]
        cursor = page.next
    assert cursor is None
    assert found == made[::2][::-1]


def test_runs_go_on_until_there_are_enough(bell: Workbell, send: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One look sees so many; the verb goes on with the next."""
    made = [run.id for run in bell.enqueue_many(send.request("a", number % 10) for number in range(40))]
    real, looks = bell.store.reports.search, []

    def short_sighted(wanted: Filter) -> Any:
        looks.append(wanted.before)
        return real(wanted, scan=10)

    monkeypatch.setattr(bell.store.reports, "search", short_sighted)
    assert [run.id for run in bell.runs(input={"copies": 3})] == made[3::10][::-1]
    assert len(looks) >= 4
    assert [run.id for run in bell.runs(input={"copies": 3}, limit=2)] == made[3::10][:1:-1]


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        ({"input": {"": 1}}, "input: '' is no path; write names with dots between them, such as customer.id"),
        ({"input": {"a..b": 1}}, "is no path"),
        ({"input": {'a"b': 1}}, "is no path"),
        ({"input": {"a\n": 1}}, "is no path"),
        ({"input": {5: 1}}, "input: 5 is no path"),
        ({"input": {"a": [1]}}, "input: a: runs are found by a text, a number, true, false or null, not by list"),
        ({"input": {"a": float("nan")}}, "too large to be compared exactly"),
        ({"input": {"a": 2**63}}, "is not a whole number of 64 bits"),
        ({"input": {"a": "x" * 1001}}, "a text of up to 1,000 letters"),
        ({"input": {"a": "\x00"}}, "without NUL"),
        ({"input": {str(number): 1 for number in range(11)}}, "11 fields are more than 10"),
        ({"input": "a=1"}, "input: expected paths with their values"),
        ({"before": "x"}, "before: 'x' is no id of a run"),
        ({"event": "x"}, "event: 'x' is no id of an event"),
        ({"since": datetime.now(UTC).replace(tzinfo=None)}, "since: .* has no time zone"),
        ({"user_id": -1}, "user_id: -1 is neither a whole number from 0"),
        ({"job": "a\x00"}, "job 'a.x00': use 1 to 200 printable"),
        ({"colour": "red"}, "Unknown word 'colour' in a filter; the words are status, job"),
    ],
)
def test_a_filter_that_cannot_be_used(wanted: dict[str, Any], says: str) -> None:
    with Workbell(store=fresh_store()) as bell, pytest.raises(InvalidOption, match=says):
        bell.runs(**wanted)


def test_a_schedule_that_is_not_there() -> None:
    with Workbell(store=fresh_store()) as bell, pytest.raises(ScheduleNotFound):
        bell.count_runs(schedule="nightly", status=Status.FAILED)


def test_a_page_is_not_too_large(bell: Workbell, send: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that spells a thousand runs with the largest inputs would answer nobody else for seconds."""
    made = [run.id for run in bell.enqueue_many(send.request("a" * 1000) for _ in range(5))]
    monkeypatch.setattr(finding, "PAGE_TEXT", 2500)
    found: list[str] = []
    before, sizes = None, []
    while len(sizes) < 9:
        page = bell.page_of_runs(before=before)
        found += [run.id for run in page.runs]
        sizes.append(len(page.runs))
        before = page.next
        if before is None:
            break
    assert (found, sizes) == (made[::-1], [2, 2, 1])
    monkeypatch.setattr(finding, "PAGE_TEXT", 1)
    assert [run.id for run in bell.page_of_runs().runs] == made[-1:]


def test_a_tenant_that_comes_meanwhile_is_not_shown(sql_store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """E1: that all lanes are one tenant's may be over by the time its runs are read."""
    (mine,) = add(sql_store, request(tenant="a"))
    choose = search.choose_lanes

    def choose_and_be_late(database: Database, wanted: Filter) -> LaneChoice:
        chosen = choose(database, wanted)
        other = Thread(target=add, args=[sql_store, request(tenant="b")])
        other.start()
        other.join()
        return chosen

    monkeypatch.setattr(search, "choose_lanes", choose_and_be_late)
    assert ids(sql_store.runs.list(Filter("a"))) == [mine.id]
    monkeypatch.undo()
    assert len(sql_store.runs.list(Filter(None))) == 2
