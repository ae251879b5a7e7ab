"""State of the memory store: dicts under one lock."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from workbell.model.clock import Clock
from workbell.model.job import Job
from workbell.model.rate import Starts
from workbell.model.run import Attempt, Run
from workbell.model.schedule import Schedule, Tick
from workbell.model.state import Retention
from workbell.stores.publisher import NoPublisher, Pair, Publisher

UNDONE = ("live", "finished", "attempts", "keys", "schedules", "ticks")


class State:
    """Shared by the parts of one store."""

    def __init__(self, clock: Clock, keep: Retention) -> None:
        self.clock = clock
        self.keep = keep
        self.publisher: Publisher = NoPublisher()
        self.lock = threading.RLock()
        self.live: dict[str, Run] = {}
        self.finished: dict[str, Run] = {}
        self.attempts: dict[str, tuple[Attempt, ...]] = {}
        self.keys: dict[tuple[str, str], tuple[str, datetime | None]] = {}  # who holds a key, and until when
        self.starts: dict[int, Starts] = {}  # by the ids of limits
        self.schedules: dict[str, Schedule] = {}
        self.ticks: dict[tuple[str, datetime], Tick] = {}
        self.jobs: dict[tuple[str, str], Job] = {}

    @contextmanager
    def writing(self) -> Iterator[list[Pair]]:
        """An atomic write: undone if it raises. Runs that are put into the list are published afterwards."""
        replaced: list[Pair] = []
        with self.lock:
            before = {name: dict(getattr(self, name)) for name in UNDONE}
            try:
                yield replaced
            except BaseException:
                vars(self).update(before)
                raise
        self.publisher.written(replaced)
