"""Rows that another transaction has locked: no duty waits for them or spins on them, and all others go on (P7, D5)."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest

from tests.support.scheduling import DECLARED, ledger, new_scheduler, runs_of, told
from tests.support.statements import watch_statements
from workbell import Status
from workbell.app import open_store
from workbell.engine import materialise
from workbell.engine.dispatch import Dispatch
from workbell.model.ids import new_id
from workbell.model.limit import Limit, Limits, limits_on
from workbell.model.run import Run
from workbell.stores.port import LeaseTerms, Pick, Store
from workbell.testing.contracts.making import add, after, find, request

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
    watch_statements(lambda query, _: seen.append(query), monkeypatch.setattr)
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
        assert len(statements) <= 350
        holder.rollback()
        drive(scheduler.step, now, 2)
        assert [[tick.due for tick in ledger(bell, name)] for name in held] == [[NEXT]] * len(held)
        assert {len(runs_of(bell, name)) for name in held} == {1}

    def test_one_locked_schedule(self, store: Store, holder: psycopg.Connection[Any], statements: list[str]) -> None:
        """Its next look says when, and nobody is woken for what was not written."""
        bell, _ = told(store)
        bell.schedules.put("held", job="work", cron="* * * * *")
        woken: list[str] = []
        scheduler = materialise.Materialise(store, bell.registry, lambda _: woken.append("all"), 1.0)
        holder.execute("SELECT 1 FROM workbell_schedules FOR UPDATE")
        statements.clear()
        now, steps = drive(scheduler.step, NEXT, 10)
        assert steps <= 30
        assert len(statements) <= 90
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

    def test_a_run_that_is_to_make_room_for_a_tick_is_locked(
        self, store: Store, holder: psycopg.Connection[Any]
    ) -> None:
        """With overlap `cancel_previous` the tick ends that run: it waits for it, and no other schedule does."""
        bell, _ = told(store)
        bell.schedules.put("one", job="work", cron="* * * * *", overlap="cancel_previous")
        bell.schedules.put("other", job="work", cron="* * * * *")
        scheduler = new_scheduler(bell)
        now, _ = drive(scheduler.step, NEXT, 1)
        holder.execute("DELETE FROM workbell_runs WHERE schedule = %s", [bell.schedules.get("one").id])
        began = time.monotonic()
        now, _ = drive(scheduler.step, NEXT + timedelta(minutes=1), 5)
        assert time.monotonic() - began < 4
        assert [len(ledger(bell, name)) for name in ("one", "other")] == [1, 2]
        holder.rollback()
        drive(scheduler.step, now, 2)
        assert [tick.due for tick in ledger(bell, "one")] == [NEXT, NEXT + timedelta(minutes=1)]
        assert [run.status for run in runs_of(bell, "one")] == [Status.QUEUED, Status.CANCELED]


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
        dispatch = Dispatch(store, lambda _: woken.append(clock.now()), 1.0)
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


class TestLimits:
    def test_a_locked_limit_has_no_room_and_holds_up_nothing_else(
        self, store: Store, holder: psycopg.Connection[Any]
    ) -> None:
        """A worker stands still in a claim under a limit: another one works on all that this limit is not about."""
        add(store, *[request("work", lane_key=key) for key in "ab" for _ in range(5)], request("other"))
        each = Limits(concurrency=2, concurrency_key="customer")
        limits = {
            head.lane_id: limits_on(each, head.lane) for head in store.runs.survey(-1, 10) if head.lane.job == "work"
        }
        (first,) = claim_under(store, limits, 1, only="a")  # the rows of the limits are made
        claim_under(store, limits, 0, only="b")
        holder.execute("SELECT 1 FROM workbell_limits WHERE key = 'a' FOR UPDATE")
        began = time.monotonic()
        found = claim_under(store, limits)
        assert time.monotonic() - began < 2
        assert Counter((run.job, run.lane.key) for run in found) == {("work", "b"): 2, ("other", None): 1}
        assert claim_under(store, limits) == []
        holder.rollback()
        assert [run.lane.key for run in claim_under(store, limits)] == ["a"], "one beside the first is allowed"
        assert first.lane.key == "a"

    def test_a_limit_that_is_locked_for_a_moment_is_waited_for(
        self, store: Store, holder: psycopg.Connection[Any]
    ) -> None:
        """Another claim has it, as is usual with busy workers: then there is no need to wait for the next poll."""
        add(store, *[request("work") for _ in range(3)])
        limits = {head.lane_id: limits_on(Limits(concurrency=2), head.lane) for head in store.runs.survey(-1, 10)}
        claim_under(store, limits, 1)
        holder.execute("SELECT 1 FROM workbell_limits FOR UPDATE")
        release = threading.Timer(0.01, holder.rollback)
        release.start()
        found = claim_under(store, limits)
        release.join()
        assert len(found) == 1


def test_waits_are_restarted_around_a_locked_run(store: Store, holder: psycopg.Connection[Any]) -> None:
    held, free = add(store, *[request(delay=60, rescheduled_from=new_id()) for _ in range(2)])
    holder.execute("SELECT 1 FROM workbell_runs WHERE id = %s FOR UPDATE", [held.id])
    assert not store.runs.restart_waits(after(-3600)), "one is left"
    assert [find(store, run).scheduled_for for run in (held, free)] == [after(60), after(-3540)]
    holder.rollback()
    assert store.runs.restart_waits(after(-3600))
    assert find(store, held).scheduled_for == after(-3540)


def test_pruning_waits_for_nobody(store: Store, holder: psycopg.Connection[Any]) -> None:
    """A key whose time is over is locked by a caller who is about to take it: the rest is removed all the same."""
    add(store, *[request(key=key, key_for=60) for key in "ab"])
    holder.execute("SELECT 1 FROM workbell_keys WHERE key LIKE '%a' FOR UPDATE")
    began = time.monotonic()
    store.prune(after(3600), 100)
    assert time.monotonic() - began < 2
    assert [key[1][-1] for batch in store.export() for key in batch.keys] == ["a"]
    holder.rollback()
    store.prune(after(3600), 100)
    assert [key for batch in store.export() for key in batch.keys] == []


def claim_under(
    store: Store, limits: Mapping[int, Sequence[Limit]], most: int = 100, only: str | None = None
) -> list[Run]:
    heads = [head for head in store.runs.survey(-1, 100) if only in (None, head.lane.key)]
    picks = [Pick(head.lane_id, head.rank, most) for head in heads]
    return store.runs.claim(picks, most, LeaseTerms.drawn("w", after(0), after(30)), limits=limits)
