"""How often an idle engine asks a store that gives no hints and charges for each call; by a clock moved by hand."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from workbell import Workbell
from workbell.engine import duty
from workbell.engine.duty import Duty, DutyThread
from workbell.engine.role import ALL, Role
from workbell.model.clock import ManualClock
from workbell.model.state import Retention
from workbell.model.worker import BEAT
from workbell.settings import Settings
from workbell.stores.d1.database import SilentWatch
from workbell.stores.measuring import MOST_UNMEASURED
from workbell.stores.sql_store import SqlStore
from workbell.stores.sqlite.database import SqliteDatabase
from workbell.stores.sqlite.file import SqliteFile

WARM_UP = 300  # seconds
HALF_HOUR = 1800


class Charged(SqliteDatabase):
    """A database without hints, as D1 is: each batch, and each question for the time, is a call."""

    hints = False

    def __init__(self, file: SqliteFile, clock: ManualClock) -> None:
        super().__init__(file, clock)
        self.calls: Counter[str] = Counter()
        self.duty = ""

    def read(self, batch: Any) -> Any:
        self.calls[self.duty] += 1
        return super().read(batch)

    def write(self, batch: Any, **options: Any) -> Any:
        self.calls[self.duty] += 1
        return super().write(batch, **options)

    def measure_time(self) -> None:
        self.calls[self.duty] += 1

    def position(self) -> None:
        """D1 does not tell."""

    def watch(self) -> Any:
        return SilentWatch()


class Idle:
    """An engine whose duties are stepped here and not by their threads."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock = ManualClock()
        self.database = Charged(SqliteFile(folder / "idle.db"), self.clock)
        self._threads: list[DutyThread] = []
        monkeypatch.setattr(DutyThread, "start", lambda thread: self._threads.append(thread))
        monkeypatch.setattr(duty, "time", SimpleNamespace(monotonic=self.clock.monotonic))

    async def calls(self, role: Role, **settings: Any) -> Counter[str]:
        """Calls of an idle half hour, by duty."""
        store = SqlStore(self.database, Retention())
        with Workbell(settings=Settings(url="sqlite://", **settings), store=store) as bell:

            @bell.job(every=86400)
            def seldom() -> None: ...

            async with bell.host.beside(role):
                due = {each: self.clock.monotonic() for thread in self._threads for each in thread.duties}
                due = {each: at for each, at in due.items() if each.name != "hints"}
                self._step(due, self.clock.monotonic() + WARM_UP)
                self.database.calls.clear()
                self._step(due, self.clock.monotonic() + HALF_HOUR)
                calls = self.database.calls.copy()
        self._threads.clear()
        return calls

    def _step(self, due: dict[Duty, float], end: float) -> None:
        """Take each step at its time."""
        while due:
            next_one = min(due, key=lambda each: due[each])
            at = due[next_one]
            if at >= end:
                break
            self.clock.advance(max(at - self.clock.monotonic(), 0))
            self.database.duty = next_one.name
            next_one.take_step()
            for each in list(due):
                left = each.left()
                if each is next_one or left == 0:
                    # A millisecond more: a step that comes a microsecond early is asked to come again.
                    due[each] = math.inf if left is None else self.clock.monotonic() + left + 0.001
        self.clock.advance(end - self.clock.monotonic())


@pytest.fixture
def idle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Idle:
    return Idle(tmp_path, monkeypatch)


FREE_PLAN = 100_000 / 1440  # calls a minute that Cloudflare's free plan allows
SEVERAL = Role(schedules=False)  # a worker beside others


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("role", "poll", "most"),
    [
        (ALL, 1, 410),
        (ALL, 10, 65),
        (ALL, 20, 39),
        (ALL, 60, 21),
        (SEVERAL, 1, 280),
        (SEVERAL, 10, 44),
        (SEVERAL, 60, 17),
    ],
)
async def test_calls_follow_the_poll(idle: Idle, role: Role, poll: float, most: int) -> None:
    """The figures of docs/how-to/cloudflare.md, with a few to spare for the phase in which duties meet."""
    calls = await idle.calls(role, poll=poll)
    a_minute = calls.total() * 60 / HALF_HOUR
    shown = {name: round(count * 60 / HALF_HOUR, 1) for name, count in calls.most_common()}
    assert most * 0.85 < a_minute < most, shown
    assert poll < 10 or a_minute < FREE_PLAN


@pytest.mark.anyio
async def test_what_others_rely_on_keeps_its_pace(idle: Idle) -> None:
    """However long the poll is: signs of life, and searches for leases that have ended, at least once a lease."""
    calls = await idle.calls(ALL, poll=60)
    assert calls["registration"] == pytest.approx(HALF_HOUR / BEAT, rel=0.01)
    assert calls["recover"] == pytest.approx(2 * HALF_HOUR / Settings().lease, rel=0.02)
    assert calls["time"] == pytest.approx(HALF_HOUR / MOST_UNMEASURED, rel=0.02)
    shorter = await idle.calls(ALL, poll=60, sweep=5)
    assert shorter["recover"] == pytest.approx(2 * HALF_HOUR / 5, rel=0.01)
