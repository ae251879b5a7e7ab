"""Due ticks become runs, each with its row in the ledger, once; and nothing stops a scheduler for good (D5, E5, F2)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from tests.support.scheduling import DECLARED, end_all, fates, ledger, live, look, new_scheduler, runs_of, told
from workbell import Workbell
from workbell.engine import materialise as module
from workbell.errors import JobsError, StoreError, StoreUnavailable
from workbell.model import state
from workbell.model.run import Status
from workbell.model.schedule import Schedule, ScheduleChange, Tick, TickOutcome
from workbell.stores.port import LeaseTerms, Pick, Store
from workbell.stores.sql_store import SqlStore
from workbell.stores.store_page import StorePage
from workbell.testing import drain
from workbell.testing.contracts.making import KEEP

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
NEXT = DECLARED + timedelta(seconds=30)  # the first tick of a schedule of every minute


def put(bell: Workbell, name: str = "often", **settings: Any) -> Schedule:
    return bell.schedules.put(name, **({"job": "work", "cron": "* * * * *"} | settings))


def bad() -> None:
    raise ValueError("no")


def refuse(monkeypatch: pytest.MonkeyPatch, store: Store, why: str, *names: str, always: bool = False) -> list[str]:
    """Writes about these schedules fail: those that make runs, or all of them."""
    sound, seen = store.schedules.write, list[str]()

    def write(changes: Sequence[ScheduleChange]) -> set[str]:
        for change in changes:
            if change.schedule.name in names and (always or change.runs):
                seen.append(change.schedule.name)
                raise StoreError(why)
        return sound(changes)

    monkeypatch.setattr(store.schedules, "write", write)
    return seen


class TestFiring:
    def test_a_tick_makes_a_run(self, store: Store) -> None:
        bell, _ = told(store)
        known = put(bell, input={"number": 3}, queue="mail")
        look(bell, NEXT - timedelta(seconds=0.5))
        assert runs_of(bell, "often") == []
        look(bell, NEXT)
        (run,) = runs_of(bell, "often")
        assert (run.job, run.schedule, run.scheduled_for, run.queue) == ("work", known.id, NEXT, "mail")
        assert (run.input, run.status) == ({"number": 3}, Status.QUEUED)
        (tick,) = bell.schedules.ticks("often")
        assert (tick.due, tick.outcome, tick.run) == (NEXT, TickOutcome.FIRED, run.id)
        now = bell.schedules.get("often")
        assert (now.next_run_at, now.last_run_id, now.run_count) == (NEXT + MINUTE, run.id, 1)
        assert (now.last_run_at, now.last_fire_status, now.last_status) == (NEXT, "fired", "fired")

    def test_the_queue_and_the_priority_are_the_jobs(self, store: Store) -> None:
        bell, _ = told(store)

        @bell.job(queue="paper", priority=5)
        def print_out() -> None: ...

        bell.schedules.put("printing", job=print_out, cron="* * * * *")
        store.jobs.put(bell.registry.declared_jobs(store.clock, "default"))
        look(bell, NEXT)
        stranger = Workbell(store=store, settings=bell.settings)  # knows the job from the store alone
        look(stranger, NEXT + MINUTE)
        assert {(run.queue, run.priority) for run in runs_of(bell, "printing")} == {("paper", 5)}

    def test_a_schedule_has_a_priority_of_its_own(self, store: Store) -> None:
        bell, _ = told(store)
        bell.job(name="urgent", priority=5)(lambda: None)
        for priority in (0, -3):
            bell.schedules.put(f"at {priority}", job="urgent", cron="* * * * *", priority=priority)
        assert bell.schedules.put("plain", job="urgent", cron="* * * * *").options.priority is None
        look(bell, NEXT)
        assert {name: runs_of(bell, name)[0].priority for name in ("at 0", "at -3", "plain")} == {
            "at 0": 0,
            "at -3": -3,
            "plain": 5,
        }

    def test_what_is_prepared_before_its_time_is_written_at_its_time(self, store: Store) -> None:
        bell, _ = told(store)
        put(bell)
        scheduler = look(bell, NEXT - timedelta(seconds=0.2))
        assert runs_of(bell, "often") == []
        look(bell, NEXT, scheduler)
        look(bell, NEXT + timedelta(seconds=0.1), scheduler)
        assert fates(bell, "often") == [("fired", 1)]

    def test_what_was_prepared_and_has_changed_meanwhile_is_decided_anew(self, store: Store) -> None:
        bell, clock = told(store)
        put(bell)
        scheduler = look(bell, NEXT - timedelta(seconds=0.2))
        clock.advance(29.9)
        bell.schedules.pause("often")
        look(bell, NEXT, scheduler)
        assert fates(bell, "often") == []

    def test_two_schedulers_one_tick(self, store: Store) -> None:
        bell, _ = told(store)
        put(bell)
        one, two = (look(bell, NEXT - timedelta(seconds=0.2)) for _ in range(2))
        look(bell, NEXT, one)
        look(bell, NEXT, two)
        look(bell, NEXT)
        assert (fates(bell, "often"), len(runs_of(bell, "often"))) == ([("fired", 1)], 1)

    def test_a_clock_put_back_fires_nothing_again(self, store: Store) -> None:
        """P10, P13."""
        bell, _ = told(store)
        put(bell)
        scheduler = look(bell, NEXT)
        for back in (MINUTE, HOUR, timedelta(days=1)):
            look(bell, NEXT - back, scheduler)
            look(bell, NEXT - back)
        end_all(store, NEXT)
        look(bell, NEXT + MINUTE, scheduler)
        assert fates(bell, "often") == [("fired", 1), ("fired", 1)]

    def test_workers_are_told(self, store: Store) -> None:
        bell, _ = told(store)
        put(bell)
        said: list[int] = []
        scheduler = module.Materialise(store, bell.registry, lambda _: said.append(1), 1.0)
        look(bell, NEXT - HOUR, scheduler)
        assert said == []
        look(bell, NEXT, scheduler)
        assert said == [1]

    def test_tenants(self, store: Store) -> None:
        """E1: one engine serves the schedules of all tenants, each with its own runs."""
        bell, _ = told(store)
        other = bell.for_tenant("acme")
        put(bell)
        other.schedules.put("often", job="work", cron="* * * * *", input={"number": 9})
        look(bell, NEXT)
        (mine,), (theirs,) = bell.runs(), other.runs()
        assert (mine.tenant, theirs.tenant, theirs.input) == ("default", "acme", {"number": 9})
        assert [tick.run for tick in other.schedules.ticks("often")] == [theirs.id]


class TestOverlap:
    """A5, F3, on runs that really live."""

    def test_skip(self, store: Store) -> None:
        bell, _ = told(store)
        put(bell)
        look(bell, NEXT)
        look(bell, NEXT + MINUTE)
        end_all(store, NEXT + MINUTE)
        look(bell, NEXT + 2 * MINUTE)
        assert fates(bell, "often") == [("fired", 1), ("skipped", 1), ("fired", 1)]
        assert "has not ended" in (ledger(bell, "often")[1].reason or "")
        assert bell.schedules.get("often").run_count == 2

    def test_queue_one(self, store: Store) -> None:
        bell, _ = told(store)
        put(bell, overlap="queue_one")
        for minute in range(4):
            look(bell, NEXT + minute * MINUTE)
        assert fates(bell, "often") == [("fired", 1), ("skipped", 1), ("skipped", 1)]
        end_all(store, NEXT + 3.2 * MINUTE)
        look(bell, NEXT + 3.2 * MINUTE)
        assert fates(bell, "often") == [("fired", 1), ("deferred", 1), ("skipped", 1), ("skipped", 1)]
        assert [run.scheduled_for for run in runs_of(bell, "often")] == [NEXT + MINUTE, NEXT]

    def test_allow(self, store: Store) -> None:
        bell, _ = told(store)
        put(bell, overlap="allow")
        for minute in range(3):
            look(bell, NEXT + minute * MINUTE)
        assert len(live(store)) == 3

    def test_cancel_previous(self, store: Store) -> None:
        bell, _ = told(store)
        put(bell, overlap="cancel_previous")
        for minute in range(3):
            look(bell, NEXT + minute * MINUTE)
        third, second, first = runs_of(bell, "often")
        assert [run.status for run in (first, second, third)] == [Status.CANCELED, Status.CANCELED, Status.QUEUED]
        assert fates(bell, "often") == [("fired", 1)] * 3

    @pytest.mark.parametrize("overlap", ["skip", "queue_one", "cancel_previous"])
    def test_a_follow_up_does_not_stop_the_ticks(self, store: Store, overlap: str) -> None:
        """B8: every run fails, and its follow-up is due in a day; each tick fires all the same."""
        bell, clock = told(store)
        bell.job(name="bad", retry=1)(bad)
        put(bell, job="bad", overlap=overlap, auto_reschedule=86_400)
        for minute in range(4):
            clock.advance((NEXT + minute * MINUTE - clock.now()).total_seconds())
            look(bell, clock.now())
            drain(bell)
        assert fates(bell, "often") == [("fired", 1)] * 4
        waiting = [run for run in runs_of(bell, "often") if run.status is Status.SCHEDULED]
        assert [(run.attempt, run.rescheduled_from is None) for run in waiting] == [(0, False)] * 4

    def test_the_ledger_names_the_run_that_is_in_the_way(self, store: Store) -> None:
        """A follow-up that runs, and not the run before it, which has ended."""
        bell, clock = told(store)
        bell.job(name="bad", retry=1)(bad)
        put(bell, job="bad", auto_reschedule=20)
        clock.advance((NEXT - clock.now()).total_seconds())
        look(bell, NEXT)
        drain(bell)
        follow, first = runs_of(bell, "often")
        assert (follow.rescheduled_from, first.status) == (first.id, Status.FAILED)
        clock.advance(30)
        store.runs.dispatch(clock.now(), 10)
        (head,) = store.runs.survey(-1, 10)
        terms = LeaseTerms.drawn("w", clock.now(), clock.now() + HOUR)
        assert [run.id for run in store.runs.claim([Pick(head.lane_id, head.rank, 1)], 1, terms)] == [follow.id]
        look(bell, NEXT + MINUTE)
        skipped = ledger(bell, "often")[1]
        assert (skipped.outcome, skipped.reason) == ("skipped", f"the run before it ({follow.id}) has not ended")

    def test_a_run_that_appears_after_the_reading_is_in_the_way(self, store: Store) -> None:
        """The overlap test is part of the write."""
        bell, _ = told(store)
        put(bell)
        look(bell, NEXT)
        end_all(store, NEXT)
        (first,) = runs_of(bell, "often")
        scheduler = look(bell, NEXT + MINUTE - timedelta(seconds=0.2))  # prepared: it was idle then
        bell.retry(first.id)
        look(bell, NEXT + MINUTE, scheduler)
        assert fates(bell, "often") == [("fired", 1), ("skipped", 1)]
        assert len(runs_of(bell, "often")) == 2


class TestOutage:
    """P12: a month without a scheduler, every second a tick."""

    @pytest.mark.parametrize(("catch_up", "runs"), [("latest", 1), ("all", 7), ("none", 1)])
    def test_a_month(self, store: Store, catch_up: str, runs: int) -> None:
        bell, _ = told(store)
        put(bell, cron="* * * * * *", catch_up=catch_up, catch_up_cap=7)
        look(bell, DECLARED + timedelta(days=30))
        found = ledger(bell, "often")
        assert sum(tick.count for tick in found) == 30 * 86_400
        assert len(found) == runs + 1
        assert len(runs_of(bell, "often")) == runs
        end_all(store, DECLARED + timedelta(days=30))
        look(bell, DECLARED + timedelta(days=30, seconds=1))
        assert len(runs_of(bell, "often")) == runs + 1

    def test_none_means_none(self, store: Store) -> None:
        bell, _ = told(store)
        put(bell, cron="0 3 * * *", catch_up="none")
        look(bell, DECLARED + timedelta(days=30))
        assert fates(bell, "often") == [("skipped", 30)]
        assert runs_of(bell, "often") == []
        assert bell.schedules.get("often").look_at is not None


class TestBroken:
    """E5: one that cannot be read is shown, and the others go on."""

    def spoil(self, store: Store, known: Schedule, **columns: str) -> None:
        assert isinstance(store, SqlStore)
        for column, value in columns.items():
            text = f"UPDATE workbell_schedules SET {column} = :value WHERE id = :id"
            given = {"value": value, "id": known.id}
            store.database.run_write(lambda session, text=text, given=given: session.text_rows(text, given))

    def stored(self, store: Store, known: Schedule, column: str) -> str:
        assert isinstance(store, SqlStore)
        text = f"SELECT {column} FROM workbell_schedules WHERE id = :id"
        value: str = store.database.run_read(lambda session: session.text_rows(text, {"id": known.id}))[0][0]
        return value

    @pytest.mark.parametrize(
        "columns",
        [
            {"expression": "61 * * * *"},
            {"expression": ""},
            {"timezone": "Mars/Olympus"},
            {"options": '{"window":["02:00","2 o\'clock"]}'},
            {"options": '{"overlap":"sometimes"}'},
            {"options": "{broken"},
            {"kind": "interval"},
            {"kind": "once"},
        ],
        ids=str,
    )
    def test_it_is_shown_and_the_others_go_on(self, sql_store: Store, columns: dict[str, str]) -> None:
        bell, clock = told(sql_store)
        broken = put(bell, "broken")
        put(bell, "sound")
        self.spoil(sql_store, broken, **columns)
        for minute in range(2):
            look(bell, NEXT + minute * MINUTE)
            end_all(sql_store, NEXT + minute * MINUTE)
        assert fates(bell, "sound") == [("fired", 1), ("fired", 1)]
        shown = {schedule.name: schedule for schedule in bell.schedules.list()}["broken"]
        assert (shown.last_fire_status, shown.failure_count, shown.run_count) == ("scheduler_failed", 1, 0)
        assert shown.last_error
        assert shown.look_at is not None, "it is looked at again"
        look(bell, shown.look_at)
        assert bell.schedules.get("broken").failure_count == 2
        clock.advance(hours=3)
        bell.schedules.pause("broken")
        with pytest.raises(JobsError, match="schedule broken: "):
            bell.schedules.resume("broken")
        with pytest.raises(JobsError, match="schedule broken: "):
            bell.schedules.preview("broken")
        assert bell.schedules.get("broken").paused
        for column, value in columns.items():
            assert self.stored(sql_store, broken, column) == value, "what cannot be read is kept as it is"
        put(bell, "broken", cron="0 0 1 1 *")  # still paused
        bell.schedules.resume("broken")
        mended = put(bell, "broken")
        assert mended.look_at is not None
        look(bell, mended.look_at)
        assert (fates(bell, "broken")[-1], bell.schedules.get("broken").last_error) == (("fired", 1), None)

    def test_an_error_nobody_thought_of(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        bell, _ = told(store)
        put(bell, "odd")
        put(bell, "sound")
        sound = module.decide

        def decide(schedule: Schedule, *arguments: Any, **named: Any) -> ScheduleChange:
            if schedule.name == "odd":
                raise ZeroDivisionError("odd")
            return sound(schedule, *arguments, **named)

        monkeypatch.setattr(module, "decide", decide)
        look(bell, NEXT)
        assert fates(bell, "sound") == [("fired", 1)]
        shown = bell.schedules.get("odd")
        assert (shown.last_fire_status, shown.last_error) == ("scheduler_failed", "ZeroDivisionError: odd")
        monkeypatch.undo()
        look(bell, NEXT + HOUR)
        assert fates(bell, "odd") == [("coalesced", 60), ("fired", 1)]


class TestRefused:
    """E5: if making a run fails, that is recorded and the schedule goes on."""

    def test_one_of_a_batch(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        bell, _ = told(store)
        for name in ("a", "bad", "c"):
            put(bell, name)
        refuse(monkeypatch, store, "no room for it", "bad")
        look(bell, NEXT)
        assert (fates(bell, "a"), fates(bell, "c")) == ([("fired", 1)], [("fired", 1)])
        assert (fates(bell, "bad"), runs_of(bell, "bad")) == ([("skipped", 1)], [])
        assert "no room for it" in (ledger(bell, "bad")[0].reason or "")
        now = bell.schedules.get("bad")
        assert (now.last_fire_status, now.last_error, now.failure_count) == ("scheduler_failed", "no room for it", 1)
        assert (now.run_count, now.last_run_id, now.last_status) == (0, None, "scheduler_failed")
        monkeypatch.undo()
        look(bell, NEXT + MINUTE)
        now = bell.schedules.get("bad")
        assert (fates(bell, "bad")[-1], now.last_fire_status, now.last_error) == (("fired", 1), "fired", None)
        assert now.failure_count == 1

    def test_its_tick_is_in_the_ledger_already(self, store: Store) -> None:
        """As in a store that was copied while schedules went on: ticks are there that the schedule knows nothing of."""
        bell, _ = told(store)
        known = {name: put(bell, name) for name in ("ahead", "sound")}
        ahead = Tick(schedule=known["ahead"].id, due=NEXT, outcome=TickOutcome.FIRED, created_at=NEXT)
        store.load(StorePage(ticks=[ahead]))
        look(bell, NEXT)
        assert fates(bell, "sound") == [("fired", 1)]
        assert (ledger(bell, "ahead"), runs_of(bell, "ahead")) == ([ahead], [])
        look(bell, NEXT + MINUTE)
        assert fates(bell, "ahead") == [("fired", 1), ("fired", 1)]
        assert len(runs_of(bell, "ahead")) == 1

    def test_nothing_can_be_written_about_one(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        """The others go on all the same, and the duty waits a little before it tries again."""
        bell, _ = told(store)
        for name in ("a", "bad", "c"):
            put(bell, name)
        refuse(monkeypatch, store, "never", "bad", always=True)
        with pytest.raises(StoreError, match="never"):
            new_scheduler(bell).step(NEXT)
        assert (fates(bell, "a"), fates(bell, "bad"), fates(bell, "c")) == ([("fired", 1)], [], [("fired", 1)])
        monkeypatch.undo()
        look(bell, NEXT + HOUR)
        assert fates(bell, "bad") == [("coalesced", 60), ("fired", 1)]

    def test_a_database_that_is_away_spoils_nothing(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        bell, _ = told(store)
        put(bell)

        def away(_changes: Sequence[ScheduleChange]) -> set[str]:
            raise StoreUnavailable("away")

        monkeypatch.setattr(store.schedules, "write", away)
        scheduler = new_scheduler(bell)
        with pytest.raises(StoreUnavailable):
            scheduler.step(NEXT)
        monkeypatch.undo()
        look(bell, NEXT + MINUTE, scheduler)
        assert fates(bell, "often") == [("coalesced", 1), ("fired", 1)]
        assert bell.schedules.get("often").failure_count == 0


def test_what_a_run_reports_is_told_apart_from_firing(store: Store) -> None:
    """E4: two statuses, and the newer of them as one word."""
    bell, _ = told(store)
    put(bell)
    look(bell, NEXT)
    store.runs.dispatch(NEXT, 10)
    end_all(store, NEXT + timedelta(seconds=5))
    now = bell.schedules.get("often")
    assert (now.last_fire_status, now.last_run_status, now.last_status) == ("fired", "success", "success")
    look(bell, NEXT + MINUTE)
    assert bell.schedules.get("often").last_status == "fired"
    (run,) = [run for run in runs_of(bell, "often") if not run.status.final]
    store.runs.apply([state.cancel(run, NEXT + MINUTE, reason="-", keep=KEEP.other)])
    assert bell.schedules.get("often").last_status == "fired"
