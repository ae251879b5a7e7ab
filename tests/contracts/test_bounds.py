"""Bounds of writes and reads, on SQLite and PostgreSQL: what is beyond one comes in the next round; nothing is lost.

The bounds are made small here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta

import pytest

from tests.support.statements import watch_statements
from workbell.model import state
from workbell.model.event import Match, MatchOutcome
from workbell.model.ids import new_id
from workbell.model.log_line import LogLine
from workbell.model.notification import Notification
from workbell.model.run import Run, Status
from workbell.stores import pruning
from workbell.stores.port import Store
from workbell.stores.reports import recent, reports
from workbell.stores.runs import runs as stored_runs
from workbell.stores.schedules import schedules
from workbell.stores.store_page import StorePage
from workbell.testing.contracts.core.scheduling import begin, fire, run_of, running, runs_of, schedule, stored
from workbell.testing.contracts.making import KEEP, START, add, after, claim, claimed, find, request
from workbell.testing.contracts.parts.events import emitted, fact, settle

PARTS = 4
OVER = START + timedelta(days=365)


@pytest.fixture
def store(sql_store: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setattr(pruning, "MOST_PARTS", PARTS)
    return sql_store


def pruned(store: Store) -> Iterator[Counter[str]]:
    """What each round has removed, until nothing is left; it says so as long as there may be more."""
    while True:
        kinds: Counter[str] = Counter()
        count = store.prune(OVER, 100, kinds)
        yield kinds
        if count < 100:
            return


def with_lines(store: Store, count: int) -> Run:
    run = claimed(store)
    store.logs.add([(run.token, LogLine(run.id, 1, n, after(n), "INFO", "a line")) for n in range(count)])
    store.runs.apply([state.succeed(run, after(3), result=None, keep=KEEP.succeeded)])
    return run


def with_attempts(store: Store, count: int) -> Run:
    run = claimed(store)
    for number in range(count):
        store.runs.apply([state.release(run, after(number), started_at=after(number))])
        (run,) = claim(store, at=number)
    store.runs.apply([state.succeed(run, after(count), result=None, keep=KEEP.succeeded)])
    return run


def lines_of(store: Store, run: Run) -> int:
    return len(store.logs.list(run.id, after=(0, -1), limit=1000))


def read_by(name: str, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each call of a statement answers from now on."""
    found: list[int] = []
    watch_statements(lambda query, rows: found.append(len(rows)) if query == name else None, monkeypatch.setattr)
    return found


class TestTicks:
    @pytest.fixture(autouse=True)
    def rounds(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(schedules, "ROUND", 2)

    def test_runs_in_the_way_make_room_in_rounds(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        """Any number of runs may wait for a schedule that replaces its last run since yesterday."""
        (known,) = begin(store, schedule())
        busy = [running(store, known) for _ in range(3)]
        waiting = add(store, *[run_of(known, 1) for _ in range(6)])
        found = read_by("overlaps_of", monkeypatch)
        assert store.schedules.write([fire(known, 2, cancel_live=True)]) == {known.id}
        assert (max(found), sum(found)) == (3, 3 + 3 + 3 + 3 + 1)
        assert {find(store, run).status for run in waiting} == {Status.CANCELED}
        assert all(find(store, run).cancel_requested for run in busy)
        (new,) = [run for run in runs_of(store, known) if run.status is Status.QUEUED]
        assert new.id == stored(store, known).last_run_id

    def test_whoever_comes_second_ends_none(self, store: Store) -> None:
        (known,) = begin(store, schedule())
        assert store.schedules.write([fire(known, 1)]) == {known.id}
        waiting = add(store, *[run_of(known, 1) for _ in range(6)])
        assert store.schedules.write([fire(known, 2, cancel_live=True)]) == set()
        assert {find(store, run).status for run in waiting} == {Status.QUEUED}


class TestReports:
    def test_what_waits_for_workers_is_counted_by_pages_of_lanes(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(reports, "PAGE", 2)
        add(store, *[request(queue=f"q{number}") for number in range(5)], request(queue="q1"), request(tenant="b"))
        add(store, request(target="press"))
        found = read_by("load_of_lanes", monkeypatch)
        loads = store.reports.load("default", None, 100)
        assert {one.lane.queue: one.queued for one in loads} == {"q0": 1, "q1": 2, "q2": 1, "q3": 1, "q4": 1}
        assert [(one.lane.queue, one.queued) for one in store.reports.load("default", ["q1", "x"], 100)] == [("q1", 2)]
        assert found == [2, 2, 2, 0] * 2

    def test_live_runs_are_counted_to_a_limit(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        """And what is counted says that there may be more."""
        monkeypatch.setattr(reports, "QUEUED", 3)
        monkeypatch.setattr(reports, "SCHEDULED", 4)
        monkeypatch.setattr(reports, "PAGE", 2)
        add(store, *[request(queue="long", at=number) for number in range(5)], request(queue="short"))
        add(store, *[request(queue=f"q{number}", tenant="b") for number in range(5)])
        found = {one.lane.queue: one for one in store.reports.counts("default")}
        counted = {name: (one.queued, one.capped) for name, one in found.items()}
        assert counted == {"long": (3, ("queued",)), "short": (1, ())}
        assert found["long"].due_since == after(0)
        assert len(store.reports.counts()) == 7
        add(store, *[request(queue="later", delay=60 + number) for number in range(4)])
        (later,) = [one for one in store.reports.counts("default") if one.lane.queue == "later"]
        assert (later.scheduled, later.capped) == (4, ())
        add(store, request(queue="later", delay=99))
        every = {one.lane.queue: one for one in store.reports.counts("default")}
        assert (every["later"].scheduled, every["later"].capped, every["long"].capped) == (
            4,
            ("scheduled",),
            ("queued", "scheduled"),
        )

    def test_the_newest_retry_is_read_alone(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        """Somebody may repeat a run every minute."""
        (run,) = add(store, request())
        ended = add(store, *[request(retry_of=run.id) for _ in range(4)])
        store.runs.apply([state.cancel(one, after(1), reason="-", keep=KEEP.other) for one in ended])
        newest = max(one.id for one in ended)
        live, finished = read_by("live_retries", monkeypatch), read_by("finished_retries", monkeypatch)
        assert store.reports.retries([run.id])[run.id].id == newest
        newer = add(store, *[request(retry_of=run.id) for _ in range(4)])
        assert store.reports.retries([run.id])[run.id].id == max(one.id for one in newer)
        assert (live, finished) == ([0, 1], [1, 1])

    def test_the_last_runs_of_a_job_with_more_lanes_than_are_looked_at(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(recent, "MOST_LANES", 3)
        monkeypatch.setattr(recent, "NEWEST", 4)
        runs = sorted((request(lane_key=f"k{number}") for number in range(9)), key=lambda new: new.run.id)
        made = add(store, *runs)
        store.runs.apply([state.cancel(run, after(9), reason="-", keep=KEEP.other) for run in made])
        found = read_by("lanes_of_jobs", monkeypatch)
        assert [one.id for one in store.reports.recent("default", ["work"], 4)["work"]] == [
            run.id for run in reversed(made[-4:])
        ]
        assert found == [3]


class TestSentAgain:
    def test_any_lane_is_drawn(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of many lanes with queued runs a few are looked at, and others the next time."""
        monkeypatch.setattr(stored_runs, "DRAWN_FROM", 2)
        first = add(store, *[request(queue=f"q{number}") for number in range(4)])
        add(store, *[request(queue="q0", at=60) for _ in range(9)])
        seen: set[str] = set()
        for _ in range(500):
            drawn = store.runs.pending(queued_before=after(30), limit=3)
            assert len(drawn) <= 3
            seen |= {run.id for run in drawn}
            if len(seen) == 4:
                break
        assert seen == {run.id for run in first}


class TestRemoval:
    def test_log_lines_go_in_batches_and_their_run_with_the_last(self, store: Store) -> None:
        few, many = with_lines(store, 1), with_lines(store, 9)
        left = []
        for _ in pruned(store):
            left.append((lines_of(store, few) + lines_of(store, many), many.id in store.runs.find([many.id])))
        assert left == [(6, True), (2, True), (0, False)]

    def test_attempts_go_in_batches(self, store: Store) -> None:
        run = with_attempts(store, 9)
        left = [(len(store.runs.attempts(run.id)), run.id in store.runs.find([run.id])) for _ in pruned(store)]
        assert left == [(5, True), (1, True), (0, False)]

    def test_a_run_is_counted_once(self, store: Store) -> None:
        with_lines(store, 9)
        with_attempts(store, 2)
        assert sum((kinds for kinds in pruned(store)), Counter()) == {"runs": 2}

    def test_matches_go_in_batches_and_their_event_with_the_last(self, store: Store) -> None:
        (event,) = emitted(store, fact())
        settle(store, event)
        store.load(StorePage(matches=[Match(event.id, new_id(), MatchOutcome.DISABLED, after(0)) for _ in range(9)]))
        left = [
            (len(store.events.matches(event.id, after=None, limit=99)), len(store.events.find([event.id])))
            for _ in pruned(store)
        ]
        assert left == [(5, 1), (1, 1), (0, 0)]

    def test_read_marks_go_in_batches_and_their_notification_with_the_last(self, store: Store) -> None:
        sent = Notification(new_id(), "default", None, "{}", after(0))
        store.notifications.add([sent])
        for user in range(9):
            store.notifications.mark_read("default", user, [sent.id], after(1))
        left = []
        for _ in pruned(store):
            pages = list(store.export())
            left.append((sum(len(page.reads) for page in pages), sum(len(page.notifications) for page in pages)))
        assert left == [(5, 1), (1, 1), (0, 0)]
