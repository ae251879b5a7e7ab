"""Contract of schedules: a change with its ticks and runs is written whole, under its guards, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from workbell.errors import StoreError
from workbell.model import state
from workbell.model.ids import new_id
from workbell.model.retry import Retry
from workbell.model.run import NewRun, Outside, Run, Status
from workbell.model.schedule import (
    CatchUp,
    FireStatus,
    Overlap,
    Schedule,
    ScheduleChange,
    ScheduleKind,
    ScheduleOptions,
    Tick,
    TickOutcome,
)
from workbell.model.state import Transition
from workbell.stores.port import CoreStore, Filter
from workbell.stores.runs.adding import ROUND
from workbell.stores.schedules.schedules import PART
from workbell.testing.contracts.making import KEEP, add, after, claim, find, held, ids, request

replace = msgspec.structs.replace


def schedule(name: str = "nightly", **fields: Any) -> Schedule:
    """A schedule that the scheduler is to check one second after the start."""
    common: dict[str, Any] = {"job": "work", "kind": ScheduleKind.CRON, "expression": "* * * * *", "timezone": "UTC"}
    times = {"created_at": after(0), "updated_at": after(0), "look_at": after(1), "last_scheduled_at": after(0)}
    return Schedule(**({"id": new_id(), "name": name} | common | times | fields))


def begin(store: CoreStore, *new: Schedule) -> list[Schedule]:
    """Write new schedules and read them back."""
    store.schedules.write([ScheduleChange(schedule=one, expected=None, defines=True) for one in new])
    return [stored(store, one) for one in new]


def stored(store: CoreStore, wanted: Schedule) -> Schedule:
    return store.schedules.find(wanted.tenant, [wanted.name])[wanted.name]


def tick(of: Schedule, at: float, **fields: Any) -> Tick:
    common: dict[str, Any] = {"outcome": TickOutcome.SKIPPED, "created_at": after(at)}
    return Tick(schedule=of.id, due=after(at), **(common | fields))


def fire(of: Schedule, at: float, **fields: Any) -> ScheduleChange:
    """The tick of a moment, with its run, and the schedule led on to the next minute."""
    made = run_of(of, at)
    after_it = replace(
        of, last_scheduled_at=after(at), look_at=after(at + 60), last_fire_at=after(at), last_run_id=made.run.id
    )
    ticks = (tick(of, at, outcome=TickOutcome.FIRED, run=made.run.id),)
    common: dict[str, Any] = {"schedule": after_it, "expected": of.version, "ticks": ticks, "runs": (made,)}
    return ScheduleChange(**(common | fields))


def run_of(of: Schedule, at: float = 0, **fields: Any) -> NewRun:
    return request(of.job, at=at, tenant=of.tenant, schedule=of.id, **fields)


def ledger(store: CoreStore, of: Schedule) -> list[Tick]:
    return store.schedules.ticks(of.id, before=after(10**8), limit=1000)


def runs_of(store: CoreStore, of: Schedule) -> list[Run]:
    return store.runs.list(Filter(None, schedule=of.id, limit=1000))


def running(store: CoreStore, of: Schedule, at: float = 0) -> Run:
    """A run of a schedule, claimed."""
    add(store, run_of(of, at))
    (run,) = claim(store, at=at)
    return run


def lost_for_good(store: CoreStore, run: Run) -> list[Transition]:
    """Lost so often while it ran alone that it counts as crashed."""
    for at in (100, 200):
        store.runs.mark_alone(held(run))
        store.runs.apply([state.lose(find(store, run), after(at), keep=KEEP.other)])
        (run,) = claim(store, at=at)
    store.runs.mark_alone(held(run))
    return [state.lose(find(store, run), after(300), keep=KEEP.other)]


ENDS: dict[str, tuple[Callable[[CoreStore, Run], list[Transition]], str | None, int]] = {
    "succeeds": (lambda _, run: [state.succeed(run, after(9), result="1", keep=KEEP.succeeded)], "success", 0),
    "fails": (lambda _, run: [state.fail(run, after(9), error="E", reason="error", keep=KEEP.other)], "failed", 1),
    "crashes": (lost_for_good, "failed", 1),
    "is canceled": (lambda _, run: [state.cancel(run, after(9), reason="-", keep=KEEP.other)], None, 0),
    "is retried": (
        lambda _, run: [state.retry(run, after(9), error="E", reason="error", wait=timedelta(60))],
        None,
        0,
    ),
    "is lost once": (lambda _, run: [state.lose(run, after(9), keep=KEEP.other)], None, 0),
}
# Something in every column.
FULL: dict[str, Any] = {
    "tenant": "acme",
    "source": "code:app",
    "paused": True,
    "reason": "paused",
    "version": 7,
    "next_run_at": after(61.5),
    "held_tick": after(2),
    "deferred_until": after(3),
    "last_run_at": after(4),
    "last_run_id": new_id(),
    "last_fire_status": FireStatus.SCHEDULER_FAILED,
    "last_fire_at": after(5),
    "last_error": "it's \"odd\" — 'ß'",
    "run_count": 8,
    "scheduler_failures": 9,
    "options": ScheduleOptions(
        input='{"to":"a"}',
        queue="mail",
        priority=-3,
        retry=Retry(attempts=2, delay=3, factor=1, cap=9, jitter=0),
        timeout=2.5,
        target="machine",
        window=("22:00", "06:00"),
        outside=Outside.SKIP,
        overlap=Overlap.QUEUE_ONE,
        catch_up=CatchUp.ALL,
        catch_up_cap=7,
        jitter=1.5,
        description="d",
        created_by="me",
    ),
}


class SchedulingContract:
    def test_a_tick_replaces_any_number_of_waiting_runs(self, store: CoreStore) -> None:
        """But one that another scheduler has fired ends none of them, though they end in several writes."""
        (one,) = begin(store, schedule())

        def fill() -> list[Run]:
            return add(store, *(request(tag="t") for _ in range(ROUND + 1)))

        def statuses(runs: list[Run]) -> set[Status]:
            return {run.status for run in store.runs.find(ids(runs)).values()}

        change = fire(one, 5, runs=(run_of(one, 5, tag="t", replace_tag=True),), ticks=())
        before = fill()
        assert store.schedules.write([change]) == {one.id}
        assert statuses(before) == {Status.CANCELED}
        behind = fill()
        assert store.schedules.write([change]) == set()
        assert statuses(behind) == {Status.QUEUED}

    @pytest.mark.parametrize("bad", [1, 2 * PART - 1], ids=["in the first half", "in the second half"])
    def test_what_is_written_beside_a_change_that_cannot_be_is_in_the_answer(self, store: CoreStore, bad: int) -> None:
        """So that it is published and announced, however many writes it took. The error comes if nothing is written."""
        many = begin(store, *(schedule(f"s{number:04}") for number in range(2 * PART)))
        store.schedules.write([fire(many[bad], 5)])
        many[bad] = stored(store, many[bad])
        changes = [fire(one, 5) for one in many]  # this tick of one of them is in the ledger already
        try:
            answer = store.schedules.write(changes)
        except StoreError:
            answer = set()
        found = store.schedules.find("default", [one.name for one in many])
        assert {one.id for one in many if found[one.name].version > one.version} == answer
        assert many[bad].id not in answer
        with pytest.raises(StoreError):
            store.schedules.write([changes[bad]])

    def test_a_schedule_is_read_as_it_was_written(self, store: CoreStore) -> None:
        """E1, E4: every field."""
        new = schedule(**FULL)
        assert begin(store, new) == [new]
        changed = replace(new, **{name: value for name, value in FULL.items() if name != "tenant"}, enabled=False)
        changed = replace(changed, run_count=80, held_tick=None, job="other", kind=ScheduleKind.ONCE)
        changed = replace(changed, expression="2030-01-01T09:00:00Z")
        defined = ScheduleChange(schedule=changed, expected=7, defines=True)
        assert store.schedules.write([defined]) == {new.id}
        assert stored(store, new) == replace(changed, version=8)

    def test_a_name_is_taken_once_for_each_tenant(self, store: CoreStore) -> None:
        first, again, other = schedule("a", job="one"), schedule("a", job="two"), schedule("a", tenant="b")
        rival = ScheduleChange(
            schedule=again, expected=None, defines=True, ticks=(tick(again, 1),), runs=(run_of(again),)
        )
        begin(store, first, other)
        assert store.schedules.write([rival]) == set()
        assert (stored(store, first), stored(store, other)) == (first, other)
        assert (ledger(store, again), runs_of(store, again)) == ([], [])

    def test_tenants_are_apart(self, store: CoreStore) -> None:
        here, there = begin(store, schedule("a"), schedule("a", tenant="b"))
        assert store.schedules.find("c", ["a"]) == {}
        assert store.schedules.list("b", source=None, after="", limit=10) == [there]
        store.schedules.write([fire(there, 1)])
        assert stored(store, here) == here
        assert (len(ledger(store, there)), ledger(store, here)) == (1, [])
        (made,) = runs_of(store, there)
        assert made.tenant == "b"
        assert store.schedules.delete(there.id)
        assert store.schedules.find("default", ["a"]) == {"a": here}

    @pytest.mark.parametrize("defines", [False, True])
    def test_whoever_comes_second_writes_nothing(self, store: CoreStore, defines: bool) -> None:
        """F2, P10: the guard is the version, and with it go tick and run."""
        (known,) = begin(store, schedule())
        first, late = fire(known, 1), fire(known, 2, defines=defines, cancel_live=True)
        assert store.schedules.write([first]) == {known.id}
        before = (stored(store, known), ledger(store, known), runs_of(store, known))
        assert before[0].version == known.version + 1
        assert store.schedules.write([late]) == set()
        assert store.schedules.write([first]) == set()
        assert (stored(store, known), ledger(store, known), runs_of(store, known)) == before

    def test_a_schedule_that_is_gone_is_not_changed(self, store: CoreStore) -> None:
        gone = schedule()
        assert store.schedules.write([fire(gone, 1)]) == set()
        assert store.schedules.write([fire(gone, 1, defines=True)]) == set()
        assert (ledger(store, gone), runs_of(store, gone), store.schedules.next_check()) == ([], [], None)
        assert store.schedules.write([]) == set()

    def test_a_batch_says_which_of_it_happened(self, store: CoreStore) -> None:
        known = begin(store, *[schedule(f"s{number}") for number in range(6)])
        store.schedules.write([fire(one, 1) for one in known[::2]])
        fresh = schedule("fresh")
        changes = [fire(one, 2) for one in known] + [ScheduleChange(schedule=fresh, expected=None, defines=True)]
        assert store.schedules.write(changes) == {*(one.id for one in known[1::2]), fresh.id}
        assert [len(runs_of(store, one)) for one in known] == [1] * 6
        assert [ledger(store, one)[0].due for one in known] == [after(1), after(2)] * 3

    def test_an_advance_leaves_the_definition_alone(self, store: CoreStore) -> None:
        """It was decided on an older reading; what it may write is where the scheduler stands."""
        (known,) = begin(store, schedule())
        store.schedules.write([fire(replace(known, job="other", expression="0 0 1 1 *", enabled=False), 1)])
        now = stored(store, known)
        assert (now.job, now.expression, now.enabled) == ("work", "* * * * *", True)
        assert now.last_scheduled_at == after(1)

    @pytest.mark.parametrize("status", [Status.SCHEDULED, Status.QUEUED, Status.RUNNING])
    def test_only_if_none_of_its_runs_is_live(self, store: CoreStore, status: Status) -> None:
        """A5: the overlap test is inside the write."""
        known, other = begin(store, schedule("a"), schedule("b"))
        add(store, run_of(known, delay=60 if status is Status.SCHEDULED else 0), request())
        if status is Status.RUNNING:
            claim(store)
        changes = [fire(known, 1, only_idle=True), fire(other, 1, only_idle=True)]
        assert store.schedules.write(changes) == {other.id}
        assert (stored(store, known), ledger(store, known)) == (known, [])
        assert len(runs_of(store, known)) == 1
        assert store.schedules.write([fire(known, 1)]) == {known.id}

    def test_a_finished_run_is_in_nobodys_way(self, store: CoreStore) -> None:
        (known,) = begin(store, schedule())
        run = running(store, known)
        store.runs.apply([state.succeed(run, after(1), result=None, keep=KEEP.succeeded)])
        assert store.schedules.write([fire(known, 2, only_idle=True)]) == {known.id}

    @pytest.mark.parametrize("delay", [60, 0])
    def test_a_follow_up_that_has_not_started_is_no_overlap(self, store: CoreStore, delay: int) -> None:
        """B8: it waits, scheduled or queued, and the ticks go on beside it."""
        (known,) = begin(store, schedule())
        (follow,) = add(store, run_of(known, delay=delay, rescheduled_from=new_id()))
        assert [one.blocker for one in store.schedules.due(after(9), 9)] == [None]
        assert [one.blocker for one in store.schedules.due(after(9), 9, [(new_id(), 0)])] == [None]
        assert store.schedules.write([fire(known, 1, only_idle=True)]) == {known.id}
        now = stored(store, known)
        assert store.schedules.write([fire(now, 2, cancel_live=True)]) == {known.id}
        assert find(store, follow) == follow, "only what is in the way makes room"

    @pytest.mark.parametrize("status", [Status.SCHEDULED, Status.QUEUED, Status.RUNNING])
    def test_a_follow_up_that_has_started_is_in_the_way(self, store: CoreStore, status: Status) -> None:
        """Also while it waits for its next attempt."""
        (known,) = begin(store, schedule())
        add(store, run_of(known, rescheduled_from=new_id()))
        (follow,) = claim(store)
        if status is Status.SCHEDULED:
            store.runs.apply([state.retry(follow, after(1), error="E", reason="error", wait=timedelta(seconds=60))])
        if status is Status.QUEUED:
            store.runs.apply([state.release(follow, after(1), started_at=after(0))])
        add(store, run_of(known, delay=60, rescheduled_from=follow.id))  # not this one
        assert [one.blocker for one in store.schedules.due(after(9), 9)] == [follow.id]
        assert [one.blocker for one in store.schedules.due(after(9), 9, [(new_id(), 0)])] == [follow.id]
        assert store.schedules.write([fire(known, 1, only_idle=True)]) == set()
        assert store.schedules.write([fire(known, 2, cancel_live=True)]) == {known.id}
        ended = find(store, follow)
        assert ended.cancel_requested if status is Status.RUNNING else ended.status is Status.CANCELED

    def test_a_tick_is_in_the_ledger_once(self, store: CoreStore) -> None:
        """A second one refuses the whole write: no run, no advance, and nothing of its neighbours."""
        known, other = begin(store, schedule("a"), schedule("b"))
        store.schedules.write([fire(known, 1)])
        now = stored(store, known)
        add(store, run_of(known, 1, tag="waits", delay=5))
        before = (ledger(store, known), sorted(ids(runs_of(store, known))))
        with pytest.raises(StoreError):
            store.schedules.write([fire(other, 1), fire(now, 1, cancel_live=True)])
        assert (stored(store, known), stored(store, other)) == (now, other)
        assert (ledger(store, known), sorted(ids(runs_of(store, known)))) == before
        assert (ledger(store, other), runs_of(store, other)) == ([], [])
        assert {run.status for run in runs_of(store, known)} == {Status.QUEUED, Status.SCHEDULED}
        assert store.schedules.write([fire(other, 1), fire(now, 2)]) == {known.id, other.id}

    def test_live_runs_make_room(self, store: CoreStore) -> None:
        """F3: `cancel_previous`. What waits ends at once; what runs is asked to."""
        known, other = begin(store, schedule("a"), schedule("b"))
        runs = running(store, known), running(store, other)
        waiting = add(store, run_of(known, 1), run_of(known, 1, delay=60), run_of(other, 1))
        assert store.schedules.write([fire(known, 2, cancel_live=True)]) == {known.id}
        ended = [find(store, run) for run in waiting]
        assert [run.status for run in ended] == [Status.CANCELED, Status.CANCELED, Status.QUEUED]
        assert all(run.reason and "later tick" in run.reason and run.finished_at == after(2) for run in ended[:2])
        assert [find(store, run).cancel_requested for run in runs] == [True, False]
        new = [run for run in runs_of(store, known) if run.status is Status.QUEUED]
        assert ids(new) == [stored(store, known).last_run_id]

    def test_runs_of_a_change_can_be_claimed(self, store: CoreStore) -> None:
        """D5: stamped with job, schedule and the time they were due; also in lanes that nobody knew."""
        (known,) = begin(store, schedule(tenant="new", job="never-seen"))
        change = fire(known, 1)
        later = run_of(known, 1, delay=30)
        store.schedules.write([replace(change, runs=(*change.runs, later))])
        (run,) = claim(store, at=1)
        assert (run.id, run.job, run.schedule, run.tenant) == (change.runs[0].run.id, "never-seen", known.id, "new")
        assert run.scheduled_for == after(1)
        assert find(store, later.run) == later.run
        assert store.runs.next_due() == after(31)

    # Reports

    @pytest.mark.parametrize("end", ENDS)
    def test_an_end_is_reported_to_the_schedule(self, store: CoreStore, end: str) -> None:
        """E4: in every way a run can end; a cancel is no success and no failure."""
        make, word, failed = ENDS[end]
        (known,) = begin(store, schedule())
        run = running(store, known)
        for change in make(store, run):
            assert store.runs.apply([change, change]) == {run.id}
        now = stored(store, known)
        assert (now.last_run_status, now.failed_runs) == (word, failed)
        assert (now.last_run_ended_at is None) == (word is None)
        assert now.version == known.version, "a report is no change of the schedule"
        assert store.schedules.list("default", source=None, after="", limit=9) == [now]

    def test_waiting_runs_that_are_canceled_report_nothing(self, store: CoreStore) -> None:
        (known,) = begin(store, schedule())
        (run,) = add(store, run_of(known))
        store.runs.apply([state.cancel(run, after(1), reason="-", keep=KEEP.other)])
        assert stored(store, known) == known

    def test_the_latest_end_counts(self, store: CoreStore) -> None:
        """Whatever the order in which ends are written; and every failure is counted."""
        (known,) = begin(store, schedule())
        add(store, *[run_of(known) for _ in range(5)])
        one, two, three, four, five = claim(store)
        store.runs.apply([state.succeed(one, after(10), result=None, keep=KEEP.succeeded)])
        store.runs.apply([state.fail(two, after(5), error="E", reason="error", keep=KEEP.other)])
        now = stored(store, known)
        assert (now.last_run_status, now.last_run_ended_at, now.failed_runs) == ("success", after(10), 1)
        store.runs.apply(
            [
                state.fail(three, after(30), error="E", reason="error", keep=KEEP.other),
                state.succeed(four, after(20), result=None, keep=KEEP.succeeded),
                state.succeed(five, after(15), result=None, keep=KEEP.succeeded),
            ]
        )
        now = stored(store, known)
        assert (now.last_run_status, now.last_run_ended_at, now.failed_runs) == ("failed", after(30), 2)

    def test_changes_leave_reports_alone(self, store: CoreStore) -> None:
        """A scheduler that read before the end wrote after it."""
        (known,) = begin(store, schedule())
        run = running(store, known)
        store.runs.apply([state.fail(run, after(1), error="E", reason="error", keep=KEEP.other)])
        store.schedules.write([fire(known, 2)])
        again = replace(stored(store, known), failed_runs=0, last_run_status=None, last_run_ended_at=None)
        store.schedules.write([ScheduleChange(schedule=again, expected=again.version, defines=True)])
        now = stored(store, known)
        assert (now.last_run_status, now.last_run_ended_at, now.failed_runs) == ("failed", after(1), 1)

    def test_ends_of_many_schedules_at_once(self, store: CoreStore) -> None:
        known = begin(store, *[schedule(f"s{number}") for number in range(20)])
        add(store, *[run_of(one) for one in known for _ in range(2)])
        runs = claim(store)
        half = [runs[::2], runs[1::2]]

        def end(some: list[Run]) -> set[str]:
            return store.runs.apply(
                [state.fail(run, after(1), error="E", reason="error", keep=KEEP.other) for run in some]
            )

        with ThreadPoolExecutor(2) as threads:
            assert sum(map(len, threads.map(end, half))) == 40
        assert [stored(store, one).failed_runs for one in known] == [2] * 20

    # Reading

    def test_the_most_overdue_are_found_first(self, store: CoreStore) -> None:
        late, later, asleep, ahead = begin(
            store,
            schedule("a", look_at=after(5)),
            schedule("b", look_at=after(2)),
            schedule("c", look_at=None),
            schedule("d", look_at=after(10)),
        )
        waiting, _ = add(store, run_of(late), run_of(asleep))
        found = store.schedules.due(after(5), 10)
        assert [(one.schedule, one.blocker) for one in found] == [(later, None), (late, waiting.id)]
        assert [one.schedule for one in store.schedules.due(after(99), 1)] == [later]
        assert store.schedules.due(after(1), 10) == []
        assert store.schedules.next_check() == after(2)
        assert [store.schedules.next_check(after(second)) for second in (2, 5, 10)] == [after(5), after(10), None]
        store.schedules.delete(later.id)
        store.schedules.delete(late.id)
        assert store.schedules.next_check() == ahead.look_at

    def test_versions_of_schedules_are_passed_over(self, store: CoreStore) -> None:
        """What another scheduler holds is left out, up to the limit; its next version is found again."""
        known = begin(store, *[schedule(f"s{number}", look_at=after(number)) for number in range(4)])
        passed = [(one.id, one.version) for one in known[:2]]
        assert [one.schedule for one in store.schedules.due(after(9), 1, passed)] == [known[2]]
        assert [one.schedule for one in store.schedules.due(after(9), 9, passed)] == known[2:]
        store.schedules.write([fire(known[0], 5)])
        found = [one.schedule.name for one in store.schedules.due(after(99), 9, passed)]
        assert sorted(found) == ["s0", "s2", "s3"]

    def test_lists_have_pages_and_sources(self, store: CoreStore) -> None:
        begin(store, *[schedule(f"s{n:02}", source="code" if n % 3 else "api") for n in range(20)])
        first = store.schedules.list("default", source=None, after="", limit=15)
        rest = store.schedules.list("default", source=None, after=first[-1].name, limit=15)
        assert [one.name for one in first + rest] == [f"s{n:02}" for n in range(20)]
        found = store.schedules.list("default", source="api", after="s00", limit=3)
        assert [one.name for one in found] == ["s03", "s06", "s09"]
        assert store.schedules.list("default", source="other", after="", limit=3) == []
        assert set(store.schedules.find("default", ["s01", "s19", "none"])) == {"s01", "s19"}
        assert store.schedules.find("default", []) == {}
        assert store.schedules.get(first[1].id) == first[1]
        assert store.schedules.get(new_id()) is None

    def test_the_ledger_is_read_newest_first(self, store: CoreStore) -> None:
        (known,) = begin(store, schedule())
        rows = (
            tick(known, 1, outcome=TickOutcome.COALESCED, until=after(4), count=4, run=new_id(), reason="it's"),
            tick(known, 5, outcome=TickOutcome.DEFERRED, run=new_id()),
            tick(known, 6, reason="ß"),
        )
        store.schedules.write([fire(known, 7, ticks=rows, runs=())])
        assert ledger(store, known) == list(rows[::-1])
        assert store.schedules.ticks(known.id, before=after(6), limit=1) == [rows[1]]
        assert store.schedules.ticks(new_id(), before=after(6), limit=1) == []

    # Ends of things

    def test_a_deleted_schedule_leaves_its_runs_and_ticks(self, store: CoreStore) -> None:
        (known,) = begin(store, schedule())
        store.schedules.write([fire(known, 1)])
        (run,) = claim(store, at=1)
        now = stored(store, known)
        assert now.version != known.version
        assert not store.schedules.delete(known.id, known.version)
        assert stored(store, known) == now  # with what its runs reported
        assert store.schedules.delete(known.id, now.version)
        assert not store.schedules.delete(known.id)
        assert store.schedules.find("default", ["nightly"]) == {}
        assert store.schedules.due(after(10**6), 10) == []
        assert store.schedules.write([fire(known, 2)]) == set()
        assert store.runs.apply([state.fail(run, after(2), error="E", reason="error", keep=KEEP.other)]) == {run.id}
        assert len(ledger(store, known)) == len(runs_of(store, known)) == 1
        (new,) = begin(store, schedule())
        assert (new.failed_runs, new.last_run_status) == (0, None)

    def test_old_ticks_are_pruned_in_batches(self, store: CoreStore) -> None:
        (known,) = begin(store, schedule())
        rows = tuple(tick(known, number) for number in range(1, 11))
        store.schedules.write([fire(known, 11, ticks=rows, runs=())])
        over = after(6) + KEEP.other
        assert store.prune(over, 4) == 4
        assert store.prune(over, 4) == 2
        assert store.prune(over, 4) == 0
        assert ledger(store, known) == list(rows[:5:-1])
        assert stored(store, known).last_scheduled_at == after(11)

    def test_many_that_fire_at_once_fire_once(self, store: CoreStore) -> None:
        """P10: any number of schedulers."""
        known = begin(store, *[schedule(f"s{number}") for number in range(30)])

        def scheduler(number: int) -> int:
            some = known if number % 2 else known[::-1]
            return len(store.schedules.write([fire(one, 1, only_idle=True) for one in some]))

        with ThreadPoolExecutor(4) as threads:
            written = sum(threads.map(scheduler, range(4)))
        # A row that another one holds is left to it: then it is written by that one, and counted there.
        assert written == 30
        assert [(len(ledger(store, one)), len(runs_of(store, one))) for one in known] == [(1, 1)] * 30
        assert [stored(store, one).version for one in known] == [1] * 30
