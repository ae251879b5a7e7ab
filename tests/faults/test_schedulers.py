"""Three schedulers, killed and disturbed for a simulated week: each tick has one fate, none is missing (P10)."""

from __future__ import annotations

import copy
import os
import random
import subprocess
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.checker import check, report, snapshot
from tests.support.many_schedules import START, WEEK, declare_many
from tests.support.processes import Site, kill
from tests.support.scheduler_app import set_clock
from tests.support.scheduling import end_all, look, told
from tests.support.statements import watch_statements
from tests.support.waiting import until
from workbell import Workbell
from workbell.engine.materialise import Materialise
from workbell.model.schedule import DueSchedule, ScheduleChange
from workbell.scheduling.rule import rule_of
from workbell.stores.database import Row
from workbell.stores.memory.store import MemoryStore
from workbell.stores.port import Store

SOAK = os.environ.get("WORKBELL_SOAK") == "1"
MANY, LOOKS = (1000, 2000) if SOAK else (60, 80)
TURNS = 100 if SOAK else 6
LIMIT = 1800 if SOAK else 110
PARTS_OF_A_TICK = {"advance", "add_runs", "add_advanced_runs", "add_ticks", "add_advanced_ticks"}
STEPS = [0.0, 0.0, 0.0, 0.0, 3600.0, -3600.0, 86_400.0, -86_400.0]  # how far a clock may be off


def chance(request: pytest.FixtureRequest) -> random.Random:
    """The seed is shown when the test fails, and can be set to repeat it."""
    seed = os.environ.get("WORKBELL_SEED") or str(random.randrange(10**6))
    print(f"WORKBELL_SEED={seed}")
    return random.Random(f"{seed}{request.node.name}")


class Killed(BaseException):
    """The process ends here."""


class Shaky:
    """A store as a scheduler sees it that may be killed, or overtaken by another, at any moment."""

    def __init__(self, store: Store, moments: random.Random, overtake: Callable[[], None]) -> None:
        self._store = store
        self._moments = moments
        self._overtake = overtake
        self.schedules: Any = copy.copy(store.schedules)
        self.schedules.due, self.schedules.write = self._due, self._write

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def _die(self, likely: float) -> None:
        if self._moments.random() < likely:
            raise Killed

    def _due(self, now: datetime, limit: int, passed_over: Sequence[tuple[str, int]] = ()) -> list[DueSchedule]:
        found = self._store.schedules.due(now, limit, passed_over)
        self._die(0.02)
        return found

    def _write(self, changes: Sequence[ScheduleChange]) -> set[str]:
        if self._moments.random() < 0.3:
            self._overtake()  # between reading and writing
        self._die(0.1)
        written = self._store.schedules.write(changes)
        self._die(0.1)  # it is written, and nobody here knows
        return written


class Crew:
    """Three schedulers in one process; whoever is killed is replaced."""

    def __init__(self, bell: Workbell, moments: random.Random) -> None:
        self._bell = bell
        self._moments = moments
        self._depth = 0
        self.now = START
        self.kills = self.overtaken = 0
        self._each = [self._new() for _ in range(3)]

    def _new(self) -> Materialise:
        shaky: Any = Shaky(self._bell.store, self._moments, self._overtake)
        return Materialise(shaky, self._bell.registry, lambda _: None, 1.0)

    def _overtake(self) -> None:
        if self._depth < 2:
            self.overtaken += 1
            self.step()

    def step(self) -> None:
        """One of them takes a step, by its own clock."""
        place = self._moments.randrange(3)
        off = timedelta(seconds=self._moments.choice(STEPS))
        self._depth += 1
        try:
            self._each[place].step(self.now + off)
        except Killed:
            self.kills += 1
            self._each[place] = self._new()
        finally:
            self._depth -= 1


def die_between_statements(monkeypatch: pytest.MonkeyPatch, moments: random.Random) -> list[str]:
    """Also in the middle of a transaction: after a statement of it, and before its commit. Says after which."""
    deaths: list[str] = []

    def seen(query: str, _found: Sequence[Row]) -> None:
        if query in PARTS_OF_A_TICK and moments.random() < 0.05:
            deaths.append(query)
            raise Killed

    watch_statements(seen, monkeypatch.setattr)
    return deaths


@pytest.mark.timeout(LIMIT)
def test_killed_between_reading_and_writing(
    store: Store, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one process, on every store: at random points of a step, with clocks that are wrong by an hour or a day."""
    moments = chance(request)
    bell, _ = told(store, START)
    declare_many(bell, MANY)
    deaths = die_between_statements(monkeypatch, moments)
    crew = Crew(bell, moments)
    number = 0
    while (
        number < LOOKS or min(crew.kills, crew.overtaken) <= LOOKS // 20
    ):  # until enough has happened to prove something
        assert number < 20 * LOOKS, f"only {crew.kills} kills and {crew.overtaken} races"
        crew.now = START + WEEK * (number / LOOKS) + timedelta(seconds=moments.uniform(0, 2000))
        for _ in range(moments.randint(1, 4)):
            crew.step()
        if moments.random() < 0.5:
            end_all(store, crew.now)
        number += 1
    monkeypatch.undo()
    assert deaths or isinstance(store, MemoryStore), "nobody has died in the middle of a transaction"
    settle(bell, crew.now + timedelta(days=1, hours=1))


def settle(bell: Workbell, now: datetime) -> None:
    """A sound scheduler looks once more, and everything is there."""
    look(bell, now)
    all_is_there(bell.store, now)


def all_is_there(store: Store, now: datetime) -> None:
    violations = check(store, [], settled=False)
    assert not violations, report(violations)
    held = snapshot(store)
    assert len({(tick.schedule, tick.due) for tick in held.ticks}) == len(held.ticks)
    for schedule in held.schedules:
        assert schedule.last_scheduled_at is not None
        assert schedule.look_at is None or schedule.look_at > now, f"{schedule.name} was left behind"
        upcoming = rule_of(schedule).next_wanted(max(now, schedule.last_scheduled_at))
        assert (schedule.look_at is None) == (upcoming is None and schedule.held_tick is None)
        assert schedule.failure_count == 0, "whoever loses a race loses it silently"
        assert schedule.run_count == sum(1 for run in held.runs if run.schedule == schedule.id)
    assert held.runs


@pytest.mark.timeout(LIMIT)
def test_killed_processes(tmp_path: Path, sql_store_url: str, request: pytest.FixtureRequest) -> None:
    """kill -9, while the clock of all of them is put on by hours, and back by an hour and by a day."""
    moments = chance(request)
    with Site(tmp_path, sql_store_url) as site, Workbell(sql_store_url) as bell:
        bell.store.check()
        teller, _ = told(bell.store, START)
        declare_many(teller, MANY)
        now = set_clock(site.gates, 0)
        crew = [site.start(program="scheduler_app") for _ in range(3)]
        site.await_ready(*crew)
        for turn in range(TURNS):
            passed = WEEK.total_seconds() * (turn + 1) / TURNS
            victim = moments.randrange(3)
            held = turn % 3 == 0  # all have read and are about to write: one is killed, the others go on together
            if held:
                site.open_gate("hold")
            begun = writes(site, crew[victim] if held else None)
            now = set_clock(site.gates, passed + (0 if held else moments.choice(STEPS)))
            wanted = begun + (1 if held else moments.randint(1, 6))
            await_writes(site, bell.store, crew[victim] if held else None, wanted, now)
            kill(crew[victim])
            (site.gates / "hold").unlink(missing_ok=True)
            crew[victim] = site.start(program="scheduler_app")
            end_all(bell.store, now)
            site.await_ready(crew[victim])
        now = set_clock(site.gates, WEEK.total_seconds() + 100_000)
        until(lambda: idle(bell.store, now), "the schedulers to have nothing left to do", 60)
        for process in crew:
            kill(process)
        done = sum(1 for event in site.events() if event["kind"] == "written")
        assert writes(site) > done, "no kill has hit a write: the test proves little"
        all_is_there(bell.store, now)


def idle(store: Store, now: datetime) -> bool:
    # A tick that waits for a run is looked at every second: its time is moved on by each look.
    look_at = store.schedules.next_check()
    return look_at is None or look_at > now


def writes(site: Site, process: subprocess.Popen[bytes] | None = None) -> int:
    """How often a scheduler, or any of them, was about to write."""
    pid = None if process is None else process.pid
    return sum(1 for event in site.events() if event["kind"] == "writing" and pid in (None, event["pid"]))


def await_writes(site: Site, store: Store, process: subprocess.Popen[bytes] | None, wanted: int, now: datetime) -> None:
    until(lambda: writes(site, process) >= wanted or idle(store, now), "a write", 60)
