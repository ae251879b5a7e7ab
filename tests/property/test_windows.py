"""Random schedules with windows, over two clock changes: no run of a tick starts outside, and none is lost (E2, P103).

The judge is written anew: it walks minutes, and reads the clock on the wall from `zoneinfo`. Late workers, retries and
follow-ups are drawn; the time is told.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import pytest

from tests.support.fresh_store import fresh_store
from tests.support.scheduling import ledger, look, runs_of
from workbell import Context, Retry, Status, Workbell
from workbell.model.clock import ManualClock
from workbell.model.run import LIVE, Run
from workbell.model.state import Move
from workbell.notices.bus import Notice
from workbell.settings import Settings
from workbell.testing import drain

SEEDS = 200 if os.environ.get("WORKBELL_SOAK") else 20
SCHEDULES = 20  # of each seed: 400 in all
AROUND = timedelta(hours=40)  # before and after each change
MINUTE = timedelta(minutes=1)
ZONES = ["Europe/Paris", "America/New_York", "Australia/Lord_Howe", "America/Santiago"]
TICKS: list[dict[str, Any]] = [
    {"cron": "*/20 * * * *"},
    {"cron": "0 * * * *"},
    {"cron": "30 2 * * *"},
    {"cron": "15,45 0-6 * * *"},
    {"every": 5400},
    {"every": 40_000},
]
STEPS = [30, 60, 61, 600, 1900, 5400, 20_000]  # seconds until something is done again
DELAYS = [5.0, 300.0, 3000.0, 30_000.0]
PUT_OFF = "outside the window"


class Judge(NamedTuple):
    """A window, by what a clock on the wall shows in each minute."""

    start: str
    end: str
    zone: ZoneInfo

    def allows(self, at: datetime) -> bool:
        shown = at.astimezone(self.zone).strftime("%H:%M")
        if self.start < self.end:
            return self.start <= shown < self.end
        return shown >= self.start or shown < self.end

    def opening(self, after: datetime) -> datetime:
        at = after.replace(second=0, microsecond=0)
        while at <= after or not self.allows(at):
            at += MINUTE
        return at


class Drawn(NamedTuple):
    judge: Judge
    outside: str


class Scene:
    """Schedules of one zone, all on one job, whose handler fails by chance."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.zone = ZONES[seed % len(ZONES)]
        self.changes = changes_of(ZoneInfo(self.zone), 2030)
        self.clock = ManualClock(self.changes[0] - AROUND)
        self.bell = Workbell(store=fresh_store(self.clock), settings=Settings(timezone="UTC"))
        self.drawn: dict[str, Drawn] = {}
        self.starts: dict[str, list[datetime]] = {}
        self.put_off: list[Run] = []
        self.bell.job(name="work")(self.work)
        self.bell.host.bus.subscribe(self.note, [Move.SNOOZE])
        for number in range(SCHEDULES):
            self.declare(f"s{number}")

    def work(self, ctx: Context) -> None:
        self.starts.setdefault(ctx.run.id, []).append(self.clock.now())
        if self.random.random() < 0.5:
            raise ValueError("by chance")

    def note(self, notices: Sequence[Notice]) -> None:
        self.put_off += [notice.run for notice in notices]

    def declare(self, name: str) -> None:
        draw = self.random
        first = draw.randrange(0, 1440, 15)
        length = draw.choice([1, 20, 60, 240, 600, 1439])
        start, end = (f"{minute // 60:02}:{minute % 60:02}" for minute in (first, (first + length) % 1440))
        # With `skip`, a window that no tick ever falls into is refused: it takes frequent ones.
        outside = "defer" if length < 60 else draw.choice(["defer", "skip"])
        settings: dict[str, Any] = {
            "window": (start, end),
            "outside": outside,
            "overlap": draw.choice(["skip", "queue_one", "allow", "cancel_previous"]),
            "catch_up": draw.choice(["latest", "all", "none"]),
            "catch_up_cap": 5,
            "jitter": draw.choice([0, 0, 40, 900]),
            "retry": Retry(attempts=draw.choice([1, 2, 4]), delay=draw.choice(DELAYS), factor=1, cap=1e5, jitter=0),
            "auto_reschedule": draw.choice([None, None, 20, 7200]),
            **draw.choice(TICKS if outside == "defer" else TICKS[:2]),
        }
        self.bell.schedules.put(name, job="work", timezone=self.zone, **settings)
        self.drawn[name] = Drawn(Judge(start, end, ZoneInfo(self.zone)), outside)

    def live_through(self, end: datetime) -> None:
        """Schedulers look again and again; now and then there is a worker."""
        while self.clock.now() < end:
            self.clock.advance(self.random.choice(STEPS))
            if self.random.random() < 0.5:
                drain(self.bell)
            else:
                look(self.bell, self.clock.now())
                self.bell.store.runs.dispatch(self.clock.now(), 10_000)

    def work_off(self) -> None:
        """No tick any more, and a worker that is always there."""
        for name in self.drawn:
            self.bell.schedules.pause(name)
        drain(self.bell)
        while (due := self.bell.store.runs.next_due()) is not None:
            self.clock.advance((due - self.clock.now()).total_seconds())
            drain(self.bell)


def changes_of(zone: ZoneInfo, year: int) -> list[datetime]:
    """The instants of a year at which the clocks change, to the minute."""
    at, found = datetime(year, 1, 1, tzinfo=UTC), list[datetime]()
    while at.year == year:
        later = at + timedelta(days=1)
        if at.astimezone(zone).utcoffset() != later.astimezone(zone).utcoffset():
            offset = at.astimezone(zone).utcoffset()
            while at.astimezone(zone).utcoffset() == offset:
                at += MINUTE
            found.append(at)
        at = later
    return found


@pytest.fixture(params=range(SEEDS))
def scene(request: pytest.FixtureRequest) -> Iterator[Scene]:
    scene = Scene(request.param)
    yield scene
    scene.bell.close()


def test_no_start_outside_and_nothing_lost(scene: Scene) -> None:
    assert len(scene.changes) == 2
    for change in scene.changes:  # between the two lie months without anybody
        scene.clock.advance((change - AROUND - scene.clock.now()).total_seconds())
        scene.live_through(change + AROUND)
    counts = [check(scene, name, live=True) for name in scene.drawn]
    scene.work_off()
    assert not any(check(scene, name, live=False) for name in scene.drawn), "each run has ended"
    assert len(counts) == SCHEDULES
    assert scene.put_off, "nothing was tested"


def check(scene: Scene, name: str, *, live: bool) -> int:
    """Each run of a schedule started inside its window, waits for the right instant, or ended by its window."""
    judge, outside = scene.drawn[name]
    runs = {run.id: run for run in runs_of(scene.bell, name)}
    missing = {tick.run for tick in ledger(scene.bell, name) if tick.run is not None} - runs.keys()
    assert not missing, "a tick says that it made a run, and there is none"
    for run in runs.values():
        starts = scene.starts.get(run.id, [])
        assert all(judge.allows(at) for at in starts), (name, judge, run, starts)
        shut_out = run.status is Status.CANCELED and run.reason == "window"
        assert run.attempt == len(starts) + shut_out, "an attempt was spent, and no handler was called"
        assert len(scene.bell.attempts(run.id)) == len(starts)
        if shut_out:
            assert outside == "skip"
            assert run.finished_at is not None
            assert not judge.allows(run.finished_at)
            assert bool(run.error) == bool(starts), "the error of the attempt before is kept"
        elif run.status is Status.CANCELED:
            assert "later tick" in (run.reason or "")
        elif run.status in LIVE:
            assert live
        else:
            assert starts, "it ended, and was never called"
    for run in scene.put_off:
        if run.id in runs:
            assert (outside, run.reason, run.status) == ("defer", PUT_OFF, Status.SCHEDULED)
            assert run.scheduled_for == judge.opening(run.updated_at), (name, judge, run)
    return sum(run.status in LIVE for run in runs.values())
