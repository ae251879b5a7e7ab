"""Schedulers for tests: a Workbell whose time is told, and looks at its schedules as schedulers take them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from workbell import Workbell
from workbell.engine.materialise import Materialise
from workbell.model import state
from workbell.model.clock import Clock, ManualClock
from workbell.model.run import LIVE, Run
from workbell.model.schedule import Tick
from workbell.model.state import Retention
from workbell.settings import Settings
from workbell.stores.port import Filter, LeaseTerms, Pick, Store

DECLARED = datetime(2030, 1, 7, 0, 0, 30, tzinfo=UTC)  # a Monday, between two minutes
MOST_STEPS = 10_000
FAR = datetime(9000, 1, 1, tzinfo=UTC)


def told(store: Store, start: datetime = DECLARED) -> tuple[Workbell, ManualClock]:
    """A Workbell on a store whose clock moves when told to, with a job `work`."""
    clock = ManualClock(start)
    set_clock(store, clock)
    bell = Workbell(store=store, settings=Settings(timezone="UTC"))

    @bell.job
    def work(number: int = 0) -> None: ...

    return bell, clock


def set_clock(store: Store, clock: Clock) -> None:
    """A store's clock, and its database's if it has one."""
    store.clock = getattr(store, "database", store).clock = clock


def look(bell: Workbell, now: datetime, scheduler: Materialise | None = None) -> Materialise:
    """Everything that is due, as one scheduler does it."""
    scheduler = scheduler or new_scheduler(bell)
    for _ in range(MOST_STEPS):
        if scheduler.step(now) > 0:
            return scheduler
    raise AssertionError("the scheduler does not come to rest")


def new_scheduler(bell: Workbell) -> Materialise:
    return Materialise(bell.store, bell.registry, lambda _: None, 1.0, bell.runtime.publisher)


def ledger(bell: Workbell, name: str) -> list[Tick]:
    """The whole ledger of a schedule, oldest first."""
    found: list[Tick] = []
    schedule, before = bell.schedules.get(name), FAR
    while page := bell.store.schedules.ticks(schedule.id, before=before, limit=1000):
        found += page
        before = page[-1].due
    return found[::-1]


def fates(bell: Workbell, name: str) -> list[tuple[str, int]]:
    return [(tick.outcome.value, tick.count) for tick in ledger(bell, name)]


def runs_of(bell: Workbell, name: str) -> list[Run]:
    return bell.runs(schedule=name, limit=1000)


def end_all(store: Store, now: datetime) -> int:
    """Work off everything that is due: claim it and let it succeed."""
    store.runs.dispatch(now, 10_000)
    ended = 0
    while heads := store.runs.survey(-1, 1000):
        picks = [Pick(head.lane_id, head.rank, 1000) for head in heads]
        runs = store.runs.claim(picks, 1000, LeaseTerms.drawn("w", now, now.replace(year=now.year + 1)))
        if not runs:
            break
        ended += len(
            store.runs.apply([state.succeed(run, now, result=None, keep=Retention().succeeded) for run in runs])
        )
    return ended


def live(store: Store) -> Sequence[Run]:
    return store.runs.list(Filter(None, status=LIVE, limit=1000))
