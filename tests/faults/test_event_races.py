"""Several schedulers on one store, killed and overtaken: what follows from an event is written once and whole (C3)."""

from __future__ import annotations

import copy
import os
import random
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any

import psycopg
import pytest

from tests.support.checker import report
from tests.support.event_checker import check_fan_out, facts
from tests.support.event_scheduling import emit, look, scheduler
from tests.support.event_triggers import add_fifty
from tests.support.statements import watch_statements
from tests.support.waiting import until
from workbell.app import open_store
from workbell.engine import match_events as match_module
from workbell.engine.match_events import MatchEvents
from workbell.model.event import FannedOut
from workbell.stores.database import Row
from workbell.stores.memory.store import MemoryStore
from workbell.stores.port import Store

SOAK = os.environ.get("WORKBELL_SOAK") == "1"
PARTS_OF_A_FAN_OUT = {"take_events", "add_runs", "add_taken_runs", "add_matches", "add_taken_matches"}
LOOKS = 4000 if SOAK else 60


class Killed(BaseException):
    """The process ends here."""


class Shaky:
    """A store as a scheduler sees it that may be killed, or overtaken by another, at any moment."""

    def __init__(self, store: Store, dice: random.Random, overtake: Callable[[], None]) -> None:
        self._store = store
        self._dice = dice
        self._overtake = overtake
        self.events: Any = copy.copy(store.events)
        self.events.fan_out = self._fan_out

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def _die(self, likely: float) -> None:
        if self._dice.random() < likely:
            raise Killed

    def _fan_out(self, fanned: Sequence[FannedOut], now: datetime) -> set[str]:
        if self._dice.random() < 0.4:
            self._overtake()  # between reading and writing
        self._die(0.1)
        taken = self._store.events.fan_out(fanned, now)
        self._die(0.1)  # it is written, and nobody here knows
        return taken


class Crew:
    """Three schedulers in one process; whoever is killed is replaced."""

    def __init__(self, store: Store, dice: random.Random) -> None:
        self._store = store
        self._dice = dice
        self._depth = 0
        self.kills = self.overtaken = 0
        self._each = [self._new() for _ in range(3)]

    def _new(self) -> MatchEvents:
        return scheduler(Shaky(self._store, self._dice, self._overtake))

    def _overtake(self) -> None:
        if self._depth < 2:
            self.overtaken += 1
            self.step()

    def step(self) -> None:
        place = self._dice.randrange(3)
        self._depth += 1
        try:
            self._each[place].fan_out_waiting(self._store.clock.now())
        except Killed:
            self.kills += 1
            self._each[place] = self._new()
        finally:
            self._depth -= 1


def die_between_statements(monkeypatch: pytest.MonkeyPatch, dice: random.Random) -> list[str]:
    """Also in the middle of a transaction: after a statement of it, and before its commit. Says after which."""
    deaths: list[str] = []

    def seen(query: str, _found: Sequence[Row]) -> None:
        if query in PARTS_OF_A_FAN_OUT and dice.random() < 0.1:
            deaths.append(query)
            raise Killed

    watch_statements(seen, monkeypatch.setattr)
    return deaths


@pytest.mark.timeout(1800 if SOAK else 60)
def test_killed_and_overtaken(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one process, on every store: at random points, and with others coming in between reading and writing."""
    seed = os.environ.get("WORKBELL_SEED") or str(random.randrange(10**6))
    print(f"WORKBELL_SEED={seed}")
    dice = random.Random(seed)
    hearers = add_fifty(store)
    monkeypatch.setattr(match_module, "BATCH", 5)
    with monkeypatch.context() as patched:
        deaths = die_between_statements(patched, dice)
        crew, number = Crew(store, dice), 0
        for _ in range(LOOKS):
            emit(store, *range(number, number + dice.randint(0, 4)))
            number += 4
            crew.step()
    assert min(crew.kills, crew.overtaken) > LOOKS // 20, "too little has happened to prove anything"
    assert deaths or isinstance(store, MemoryStore), "nobody has died in the middle of a transaction"
    look(store)
    violations = check_fan_out(facts(store), hearers)
    assert not violations, report(violations)


def test_two_at_once(sql_stores: list[Store], monkeypatch: pytest.MonkeyPatch) -> None:
    """Undisturbed, each with a store of its own, on the same events at the same moment."""
    monkeypatch.setattr(match_module, "BATCH", 4)
    mine, *theirs = sql_stores
    hearers = add_fifty(mine)
    duties = [look(store) for store in theirs]  # each knows the triggers
    emit(mine, *range(60))
    together = threading.Barrier(len(duties))
    taken: list[int] = [0, 0]

    def work(place: int) -> bool:
        duty, store = duties[place], theirs[place]
        together.wait(30)

        def step() -> bool:
            ours = duty.fan_out_waiting(store.clock.now())
            taken[place] += ours.done
            return not ours and not store.events.waiting(1)

        return until(step, "everything to be fanned out")

    with ThreadPoolExecutor(2) as threads:
        assert all(threads.map(work, range(2)))
    violations = check_fan_out(facts(mine), hearers)
    assert not violations, report(violations)
    assert sum(taken) >= 15


def test_one_that_is_stuck(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A scheduler stands still in the middle of its transaction, with a whole batch: others go on behind it."""
    monkeypatch.setattr(match_module, "BATCH", 4)
    store = open_store(postgres_url)
    try:
        store.check()
        hearers = add_fifty(store)
        first = emit(store, *range(4))
        with psycopg.connect(postgres_url) as stuck:
            ids = [event.id for event in first]
            stuck.execute("UPDATE workbell_events SET fanned_out_at = now() WHERE id = ANY(CAST(%s AS uuid[]))", [ids])
            emit(store, *range(4, 20))
            duty = look(store)
            assert {event.id for event in store.events.waiting(100)} == set(ids)
            stuck.rollback()
        # They were passed over for a pause.
        until(lambda: look(store, duty) and not store.events.waiting(1), "those that were held to be fanned out")
        violations = check_fan_out(facts(store), hearers)
        assert not violations, report(violations)
    finally:
        store.close()
