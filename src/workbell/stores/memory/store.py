"""The memory store: runs, schedules and jobs of one process, gone when it ends.

It is for tests and for trying things out, it shows what a store must do at least, and the SQL stores are compared with
it. What needs more, such as events and logs, says so: see `workbell.stores.missing_parts`.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime

from workbell.model.clock import Clock, SystemClock
from workbell.model.ids import new_id
from workbell.model.state import Retention
from workbell.stores.memory.jobs import MemoryJobs
from workbell.stores.memory.limits import MemoryLimits
from workbell.stores.memory.runs import MemoryRuns
from workbell.stores.memory.schedules import MemorySchedules
from workbell.stores.memory.state import State
from workbell.stores.port import StoreWatch
from workbell.stores.publisher import Publisher


class MemoryStore:
    """The parts of the core over one state."""

    def __init__(self, clock: Clock | None = None, keep: Retention | None = None) -> None:
        self.state = State(clock or SystemClock(), keep or Retention())
        self.limits = MemoryLimits(self.state)
        self.runs = MemoryRuns(self.state, self.limits, self.wake)
        self.schedules = MemorySchedules(self.state, self.runs)
        self.jobs = MemoryJobs(self.state)
        self._id = new_id()
        self._changed = threading.Condition()
        self._changes = 0

    @property
    def clock(self) -> Clock:
        return self.state.clock

    @property
    def publisher(self) -> Publisher:
        return self.state.publisher

    @publisher.setter
    def publisher(self, publisher: Publisher) -> None:
        self.state.publisher = publisher

    def prune(self, now: datetime, limit: int, kinds: Counter[str] | None = None) -> int:
        runs, keys = self.runs.prune(now, limit)
        gone = Counter(runs=runs, keys=keys, ticks=self.schedules.prune(now - self.state.keep.other, limit))
        if kinds is not None:
            kinds.update(gone)
        return gone.total()

    def identity(self) -> str:
        return self._id

    hints = True

    def watch(self) -> StoreWatch:
        return MemoryWatch(self._changed, lambda: self._changes, self.wake)

    def wake(self) -> None:
        with self._changed:
            self._changes += 1
            self._changed.notify_all()

    def limit_connections(self, count: int) -> None: ...

    def tidy(self) -> None: ...

    def check(self, *, joining: bool = False) -> None: ...

    def migrate(self) -> list[str]:
        return []

    def position(self) -> None:
        """It cannot go back."""

    def measure_time(self) -> None:
        if isinstance(self.clock, SystemClock):
            self.clock.measure(lambda: datetime.now(UTC))

    def describe(self) -> list[tuple[str, str, str]]:
        return [("risk", "memory", "runs are gone when this process ends; use sqlite:/// to keep them.")]

    def close(self) -> None: ...


class MemoryWatch:
    """Waits for changes within this process."""

    def __init__(self, changed: threading.Condition, changes: Callable[[], int], wake: Callable[[], None]) -> None:
        self._changed = changed
        self._changes = changes
        self._seen = changes()
        self.interrupt = wake

    def wait(self, timeout: float) -> bool:
        with self._changed:
            changed = self._changed.wait_for(lambda: self._changes() != self._seen, timeout)
            self._seen = self._changes()
            return changed

    def close(self) -> None: ...
