"""A clock that was put back: a retry or a snooze waits for its span of time, and no longer (P13)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from workbell.model import state
from workbell.model.clock import SystemClock
from workbell.model.run import Run, Status
from workbell.stores import measuring
from workbell.stores.measuring import follow_time
from workbell.stores.memory.runs import MemoryRuns
from workbell.stores.memory.store import MemoryStore
from workbell.testing.contracts.making import claimed, find

HOUR = timedelta(hours=1)
WAIT = timedelta(seconds=5)


class LockableRuns(MemoryRuns):
    locked = False  # by somebody, so that no wait can be changed

    def restart_waits(self, now: datetime) -> bool:
        return not self.locked and super().restart_waits(now)


class PutStore(MemoryStore):
    """A store whose clock is put."""

    def __init__(self) -> None:
        self.system = SystemClock()
        super().__init__(self.system)
        self.put = timedelta(0)
        self.lockable = self.runs = LockableRuns(self.state, self.limits, self.wake)

    def measure_time(self) -> None:
        self.system.measure(lambda: datetime.now(UTC) + self.put)

    def fail_one(self, now: datetime) -> Run:
        """A run that failed and is tried again, as a process with this time writes it."""
        run = claimed(self)
        self.runs.apply([state.retry(run, now, error="E", reason="error", wait=WAIT)])
        return find(self, run)

    def due_in(self, run: Run) -> timedelta:
        assert find(self, run).status is Status.SCHEDULED
        return find(self, run).scheduled_for - self.clock.now()


@pytest.fixture
def store() -> PutStore:
    store = PutStore()
    follow_time(store)
    return store


def test_a_retry_that_waits_comes_in_time(store: PutStore) -> None:
    run = store.fail_one(store.clock.now())
    store.put = -HOUR
    follow_time(store)
    assert timedelta(0) < store.due_in(run) <= WAIT


def test_what_was_decided_before_and_written_after_it_too(store: PutStore, monkeypatch: pytest.MonkeyPatch) -> None:
    before = store.clock.now()
    store.put = -HOUR
    follow_time(store)
    late = store.fail_one(before)
    assert store.due_in(late) > timedelta(minutes=59)
    follow_time(store)
    assert store.due_in(late) <= WAIT
    monkeypatch.setattr(measuring, "STRAGGLERS", 0)
    follow_time(store)
    later = store.fail_one(before)
    follow_time(store)
    assert store.due_in(later) > timedelta(minutes=59), "nobody looks for such runs all the time"


def test_locked_runs_are_tried_again(store: PutStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "STRAGGLERS", 0)
    run = store.fail_one(store.clock.now())
    store.put, store.lockable.locked = -HOUR, True
    follow_time(store)
    store.lockable.locked = False
    follow_time(store)
    assert store.due_in(run) <= WAIT


def test_a_step_ahead_changes_no_wait(store: PutStore) -> None:
    run = store.fail_one(store.clock.now())
    store.put = HOUR
    follow_time(store)
    assert store.due_in(run) < -timedelta(minutes=59)
    assert find(store, run) == run
