"""Rows that another transaction has locked: no duty waits for them or spins on them, and all others go on (P7, D5)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest

from tests.support.scheduling import DECLARED, ledger, new_scheduler, runs_of, told
from workbell import Status
from workbell.app import open_store
from workbell.engine import materialise
from workbell.engine.dispatch import Dispatch
from workbell.stores.port import Store
from workbell.stores.postgres.store import PostgresSession
from workbell.stores.session import Row
from workbell.stores.statements import Statement

NEXT = DECLARED + timedelta(seconds=30)  # the first tick of a schedule of every minute
MOST_STEPS = 500


@pytest.fixture
def store(postgres_url: str) -> Iterator[Store]:
    store = open_store(postgres_url)
    store.check()
    yield store
    store.close()


@pytest.fixture
def holder(postgres_url: str) -> Iterator[psycopg.Connection[Any]]:
    """Whoever has the locks: a transaction of its own that stays open."""
    with psycopg.connect(postgres_url) as connection:
        yield connection
        connection.rollback()


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of all statements that the store executes."""
    seen: list[str] = []
    sound = PostgresSession.execute

    def execute(self: PostgresSession, statement: Statement) -> list[Row]:
        seen.append(statement.query)
        return sound(self, statement)

    monkeypatch.setattr(PostgresSession, "execute", execute)
    return seen


def drive(step: Callable[[datetime], float], now: datetime, seconds: float) -> tuple[datetime, int]:
    """Step as a duty does it, until this time is over; when that was, and how many steps it took."""
    end, steps = now + timedelta(seconds=seconds), 0
    while now < end:
        assert steps < MOST_STEPS, "the duty spins"
        now += timedelta(seconds=step(now))
        steps += 1
    return now, steps


class TestSchedules:
    def test_a_stuck_scheduler_stops_only_what_it_holds(
        self,
        store: Store,
        holder: psycopg.Connection[Any],
        statements: list[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """It holds more than two batches of the most overdue ones; the others fire, and nobody spins."""
        monkeypatch.setattr(materialise, "BATCH", 4)
        bell, _ = told(store)
        held = [f"held-{number}" for number in range(10)]
        free = [f"free-{number}" for number in range(6)]
        for name in held:
            bell.schedules.put(name, job="work", cron="* * * * *")
        for name in free:
            bell.schedules.put(name, job="work", cron="1 * * * * *")
        holder.execute("SELECT 1 FROM workbell_schedules WHERE name = ANY(%s) FOR UPDATE", [held])
        statements.clear()
        scheduler = new_scheduler(bell)
        now, steps = drive(scheduler.step, NEXT + timedelta(seconds=2), 10)
        assert {name: len(runs_of(bell, name)) for name in free} == dict.fromkeys(free, 1)
        assert [name for name in held if runs_of(bell, name)] == []
        assert steps <= 80
        assert len(statements) <= 200
        holder.rollback()
        drive(scheduler.step, now, 2)
        assert [[tick.due for tick in ledger(bell, name)] for name in held] == [[NEXT]] * len(held)
        assert {len(runs_of(bell, name)) for name in held} == {1}

    def test_one_locked_schedule(self, store: Store, holder: psycopg.Connection[Any], statements: list[str]) -> None:
        """Its next look says when, and nobody is woken for what was not written."""
        bell, _ = told(store)
        bell.schedules.put("held", job="work", cron="* * * * *")
        woken: list[str] = []
        scheduler = materialise.Materialise(store, bell.registry, lambda: woken.append("all"), 1.0)
        holder.execute("SELECT 1 FROM workbell_schedules FOR UPDATE")
        statements.clear()
        now, steps = drive(scheduler.step, NEXT, 10)
        assert steps <= 30
        assert len(statements) <= 60
        assert woken == []
        holder.rollback()
        drive(scheduler.step, now, 2)
        assert [tick.due for tick in ledger(bell, "held")] == [NEXT]
        assert woken == ["all"]

    def test_a_schedule_that_becomes_due_beside_a_locked_one_is_on_time(
        self, store: Store, holder: psycopg.Connection[Any]
    ) -> None:
        bell, _ = told(store)
        bell.schedules.put("held", job="work", cron="* * * * *")
        bell.schedules.put("often", job="work", cron="*/1 * * * * *")
        holder.execute("SELECT 1 FROM workbell_schedules WHERE name = 'held' FOR UPDATE")
        scheduler, now = new_scheduler(bell), NEXT
        late: dict[datetime, timedelta] = {}
        for _ in range(MOST_STEPS):
            now += timedelta(seconds=scheduler.step(now))
            late |= {tick.due: now - tick.due for tick in ledger(bell, "often") if tick.due not in late}
            if now >= NEXT + timedelta(seconds=10):
                break
        on_time = {due for due, by in late.items() if due > NEXT and by < timedelta(seconds=0.1)}
        assert on_time >= {NEXT + timedelta(seconds=second) for second in range(1, 10)}
        assert ledger(bell, "held") == []


class TestDueRuns:
    def test_a_locked_run_is_left_alone_for_a_pause(
        self, store: Store, holder: psycopg.Connection[Any], statements: list[str]
    ) -> None:
        """A caller's open transaction has replaced it, and may still roll back; another becomes due meanwhile."""
        bell, clock = told(store)
        held = bell.enqueue("work", delay=1)
        other = bell.enqueue("work", delay=1.3)
        holder.execute("DELETE FROM workbell_runs WHERE id = %s", [held.id])
        woken: list[datetime] = []
        dispatch = Dispatch(store, lambda: woken.append(clock.now()), 1.0)
        statements.clear()
        now = clock.now()
        start, steps = now, 0
        while now < start + timedelta(seconds=10):
            assert steps < MOST_STEPS, "the duty spins"
            now = clock.advance(dispatch.step(now))
            steps += 1
        assert steps <= 40
        assert len(statements) <= 100
        assert [(at - start).total_seconds() for at in woken] == [pytest.approx(1.3, abs=0.01)]
        assert bell.get(other.id).status is Status.QUEUED
        holder.rollback()
        drive(dispatch.step, now, 2)
        assert bell.get(held.id).status is Status.QUEUED
        assert len(woken) == 2
