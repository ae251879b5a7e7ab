"""Schedules over the life of processes: declared anew at every start, changed and removed by code (B6, D5, E5, P10)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.support.scheduling import DECLARED, end_all, fates, ledger, live, look, runs_of, set_clock
from tests.support.waiting import until
from workbell import Status, Workbell
from workbell.model.clock import ManualClock
from workbell.settings import Settings
from workbell.stores.port import Store

DAY, HOUR = timedelta(days=1), timedelta(hours=1)
WEEKS = 5


@pytest.fixture
def clock(store: Store) -> ManualClock:
    set_clock(store, ManualClock(DECLARED))
    return store.clock  # type: ignore[return-value]


@pytest.fixture
def start(store: Store, clock: ManualClock) -> Callable[..., Workbell]:
    """Start a process: what its code declares is put, and what it no longer declares is switched off."""

    def start(**jobs: dict[str, Any]) -> Workbell:
        bell = Workbell(store=store, settings=Settings(timezone="UTC"))
        for name, ticks in jobs.items():
            bell.job(name=name, **ticks)(lambda: None)
        bell.engine.start()
        return bell

    return start


def seen_by(bell: Workbell, clock: ManualClock, span: timedelta) -> None:
    """Let time pass, with looks whenever one is due, and runs that end."""
    end = clock.now() + span
    while (look_at := bell.store.schedules.next_check()) is not None and look_at <= end:
        clock.advance((max(look_at, clock.now()) - clock.now()).total_seconds())
        look(bell, clock.now())
        end_all(bell.store, clock.now())
    clock.advance((end - clock.now()).total_seconds())


class TestRestarts:
    def test_a_weekly_job_fires_once_a_week(self, start: Callable[..., Workbell], clock: ManualClock) -> None:
        """B6: the next tick comes from the schedule's row; a start does not move it."""
        weekly = {"cron": "0 3 * * SUN"}
        for _ in range(7 * WEEKS):
            bell = start(report=weekly)
            seen_by(bell, clock, DAY)
        assert fates(bell, "report") == [("fired", 1)] * WEEKS
        assert {run.scheduled_for.weekday() for run in runs_of(bell, "report")} == {6}
        assert bell.schedules.get("report").version == WEEKS, "only its ticks have changed it"

    def test_an_interval_longer_than_a_process_lives(self, start: Callable[..., Workbell], clock: ManualClock) -> None:
        """Its anchor is kept, so that it comes due though no process lives that long."""
        for _ in range(21):
            bell = start(report={"every": timedelta(days=7)})
            seen_by(bell, clock, DAY)
        assert [run.scheduled_for for run in runs_of(bell, "report")][::-1] == [
            DECLARED + timedelta(days=7 * week) for week in (1, 2, 3)
        ]

    def test_by_the_api(self, store: Store, clock: ManualClock) -> None:
        """The same with `schedules.put`, as an application calls it whenever it starts."""
        for _ in range(14):
            bell = Workbell(store=store, settings=Settings(timezone="UTC"))
            bell.job(name="report")(lambda: None)
            bell.schedules.put("weekly", job="report", cron="0 3 * * SUN", description="for the boss")
            seen_by(bell, clock, DAY)
        assert fates(bell, "weekly") == [("fired", 1)] * 2

    def test_declared_again_nothing_is_written(
        self, start: Callable[..., Workbell], store: Store, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        jobs = {
            "a": {"cron": "0  3 * * *", "window": ("02:00", "04:00")},
            "b": {"every": 60},
            "c": {"jitter": 3, "at": DECLARED + DAY},
        }
        first = start(**jobs).schedules.list()
        monkeypatch.setattr(store.schedules, "write", lambda changes: pytest.fail(f"{len(changes)} changes"))
        clock.advance(hours=1)
        assert start(**jobs).schedules.list() == first

    def test_while_no_process_lives_ticks_are_not_lost(
        self, start: Callable[..., Workbell], clock: ManualClock
    ) -> None:
        start(report={"cron": "0 3 * * *"})
        clock.advance(days=3)
        bell = start(report={"cron": "0 3 * * *"})
        look(bell, clock.now())
        assert fates(bell, "report") == [("coalesced", 2), ("fired", 1)]


class TestChanges:
    def test_a_changed_cron_accounts_for_what_was_pending(
        self, start: Callable[..., Workbell], clock: ManualClock
    ) -> None:
        """F2: ticks of the old rule that nobody was there for are in the ledger, and the new rule begins now."""
        start(report={"cron": "0 * * * *"})
        clock.advance(hours=5)
        bell = start(report={"cron": "30 * * * *"})
        (row,) = ledger(bell, "report")
        assert (row.outcome, row.count, row.reason) == ("skipped", 5, "the schedule was changed")
        now = bell.schedules.get("report")
        assert (now.expression, now.next_run_at) == ("30 * * * *", at(clock.now(), minute=30))
        seen_by(bell, clock, 2 * HOUR)
        assert fates(bell, "report") == [("skipped", 5), ("fired", 1), ("fired", 1)]

    def test_settings_that_are_not_about_time_leave_the_next_tick(
        self, start: Callable[..., Workbell], clock: ManualClock
    ) -> None:
        before = start(report={"cron": "0 * * * *"}).schedules.get("report")
        clock.advance(hours=5)
        bell = start(report={"cron": "0 * * * *", "overlap": "allow", "catch_up": "all"})
        now = bell.schedules.get("report")
        assert (now.look_at, now.version, ledger(bell, "report")) == (before.look_at, before.version + 1, [])
        look(bell, clock.now())
        assert fates(bell, "report") == [("fired", 1)] * 5

    def test_another_zone_is_another_time(self, start: Callable[..., Workbell]) -> None:
        start(report={"cron": "0 3 * * *"})
        bell = start(report={"cron": "0 3 * * *", "timezone": "Asia/Tokyo"})
        assert bell.schedules.get("report").next_run_at == at(DECLARED, hour=18)

    def test_a_held_tick_is_not_forgotten(self, start: Callable[..., Workbell], clock: ManualClock) -> None:
        bell = start(report={"cron": "0 * * * *", "overlap": "queue_one"})
        for hour in (1, 2):
            clock.advance((at(DECLARED, hour=hour) - clock.now()).total_seconds())
            look(bell, clock.now())
        assert bell.schedules.get("report").held_tick is not None
        bell = start(report={"cron": "30 * * * *", "overlap": "queue_one"})
        assert fates(bell, "report") == [("fired", 1), ("skipped", 1)]
        assert bell.schedules.get("report").held_tick is None

    def test_changed_while_it_was_paused(self, start: Callable[..., Workbell], clock: ManualClock) -> None:
        """What passed before the change is accounted for by the old rule, what passed after it by the new one."""
        bell = start(report={"cron": "0 * * * *"})
        bell.schedules.pause("report")
        clock.advance(hours=3)
        bell = start(report={"cron": "*/30 * * * *"})
        assert bell.schedules.get("report").paused
        assert fates(bell, "report") == [("skipped", 3)]
        clock.advance(hours=2)
        bell.schedules.resume("report")
        assert fates(bell, "report") == [("skipped", 3), ("skipped", 4)]
        assert {row.reason for row in ledger(bell, "report")} == {"paused"}


class TestRemoved:
    def test_it_is_switched_off_with_the_reason_and_comes_back(
        self, start: Callable[..., Workbell], clock: ManualClock
    ) -> None:
        hourly = {"cron": "0 * * * *"}
        start(stays=hourly, goes=hourly)
        bell = start(stays=hourly)
        gone = bell.schedules.get("goes")
        assert (gone.enabled, gone.look_at, gone.next_run_at) == (False, None, None)
        assert "no longer declares it" in (gone.reason or "")
        assert bell.schedules.get("stays").enabled
        seen_by(bell, clock, 3 * HOUR)
        assert (len(fates(bell, "stays")), fates(bell, "goes")) == (3, [])
        bell = start(stays=hourly, goes=hourly)
        back = bell.schedules.get("goes")
        assert (back.enabled, back.reason, back.id) == (True, None, gone.id)
        (row,) = ledger(bell, "goes")
        assert (row.count, row.outcome) == (3, "skipped")
        assert "no longer declares it" in (row.reason or "")
        seen_by(bell, clock, HOUR)
        assert fates(bell, "goes")[-1] == ("fired", 1)

    def test_those_of_others_are_left_alone(self, start: Callable[..., Workbell], store: Store) -> None:
        bell = start(mine={"cron": "0 * * * *"})
        bell.schedules.put("by-hand", job="mine", cron="0 * * * *")
        bell.for_tenant("acme").schedules.put("mine", job="mine", cron="0 * * * *")
        bell = start()
        assert not bell.schedules.get("mine").enabled
        assert bell.schedules.get("by-hand").enabled
        assert bell.for_tenant("acme").schedules.get("mine").enabled

    def test_a_paused_one_stays_paused(self, start: Callable[..., Workbell]) -> None:
        start(report={"cron": "0 * * * *"}).schedules.pause("report")
        start()
        bell = start(report={"cron": "0 * * * *"})
        now = bell.schedules.get("report")
        assert (now.paused, now.enabled, now.look_at) == (True, True, None)
        assert bell.schedules.resume("report").look_at is not None


def at(day: datetime, **fields: int) -> datetime:
    return day.replace(second=0, microsecond=0, **({"minute": 0} | fields))


@pytest.mark.anyio
async def test_in_a_running_engine(store: Store) -> None:
    """E4, end to end: ticks become runs, runs are worked on, and their ends are reported back."""
    bell = Workbell(store=store, settings=Settings(timezone="UTC", poll=0.2))

    @bell.job(every=1, overlap="allow")
    def well() -> None: ...

    @bell.job
    def badly() -> None:
        raise ValueError("no")

    bell.schedules.put("fails", job=badly, every=1, retry={"max_retries": 0})
    async with bell.running():
        for name, word in (("well", "succeeded"), ("fails", "failed")):
            found = await bell.runtime.hop(
                until, lambda name=name: bell.runs(schedule=name, limit=1), f"a run of {name}"
            )
            run = found[0]
            assert (await bell.await_(run.id, timeout=30)).status == word
    good, bad = bell.schedules.get("well"), bell.schedules.get("fails")
    assert (good.last_run_status, good.failure_count) == ("success", 0)
    assert bad.last_run_status == "failed"
    assert bad.failure_count >= 1
    assert all(tick.outcome in ("fired", "coalesced", "skipped") for tick in bell.schedules.ticks("well"))
    assert {run.status for run in live(store)} <= {Status.QUEUED, Status.SCHEDULED}
