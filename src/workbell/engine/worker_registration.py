"""Register: this worker in the store's list of workers, seen every few seconds and gone when it stops.

There it also learns that an operator drains it, or lets it go on: with every time of being seen, and soon after a hint.
Once nothing more can begin here it says so, for until then nobody knows whether it has heard.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Sequence
from datetime import datetime

import msgspec

from workbell.engine.pacing import Pacing
from workbell.errors import StoreError
from workbell.handlers.registry import Registry
from workbell.model.worker import BEAT, Worker
from workbell.stores.port import Store
from workbell.version import __version__

log = logging.getLogger("workbell.engine")

LOOK = 1.0  # seconds after which others know of jobs that were loaded or dropped
GAP = 0.25  # seconds from a hint to a look: hardly one of them is about this worker
SETTLE = 0.05  # seconds between looks into our own hands, while they are emptied of what has not begun


class WorkerRegistration:
    """Puts the whole row each time: should it have been removed, because we were not heard of for long, it is back."""

    def __init__(
        self, store: Store, registry: Registry, worker: str, queues: Sequence[str] | None, concurrency: int
    ) -> None:
        self._store = store
        self._registry = registry
        host, pid, incarnation = worker.split("/", 2)
        now = store.clock.now()
        self._worker = Worker(
            id=worker,
            host=host,
            pid=int(pid),
            incarnation=incarnation,
            version=__version__,
            queues=None if queues is None else tuple(queues),
            jobs=(),
            concurrency=concurrency,
            started_at=now,
            seen_at=now,
        )
        self._put: Worker | None = None  # as it is known to the store
        self._next = 0.0
        self._stopping = False
        self._look = Pacing(BEAT, GAP)
        self.hint = self._look.hint  # somebody may have drained it
        self.wake: Callable[[], None] = lambda: None
        self.turned: Callable[[], None] = lambda: None  # told when it was drained, and when it may go on
        self.quiet: Callable[[], bool] = lambda: True  # whether nothing can begin, now that it is drained

    def step(self, now: datetime) -> float:
        jobs = tuple(self._registry.served)
        begun = self._worker.started_at if self._put is not None else now
        worker = msgspec.structs.replace(
            self._worker, jobs=jobs, started_at=begun, seen_at=now, stopping=self._stopping
        )
        if self._is_news(worker) or self._store.clock.monotonic() >= self._next:
            drained_at = self._store.workers.put(worker)
            self._worker = self._put = worker
            self._next = self._store.clock.monotonic() + BEAT
            self._obey(drained_at, now)
        elif self._look.left(now) is None:
            found = self._store.workers.find(worker.id)
            self._obey(self._worker.drained_at if found is None else found.drained_at, now)
        if not self._has_answered(now):
            return min(SETTLE, self._look.left(now) or 0)
        return min(LOOK, self._look.left(now) or 0)

    def is_drained(self) -> bool:
        """Whether nothing more is to begin here."""
        return self._worker.drained_at is not None

    def _obey(self, drained_at: datetime | None, now: datetime) -> None:
        self._look.again(now + self._look.poll)
        was = self._worker
        if was.drained_at != drained_at:  # also one that was resumed and drained between two looks answers again
            self._worker = msgspec.structs.replace(was, drained_at=drained_at, drain_seen_at=None)
        if (was.drained_at is None) != (drained_at is None):
            text = "goes on: it claims runs again" if drained_at is None else "is drained: it ends what it has begun"
            log.info("worker %s %s", was.id, text, extra={"worker_id": was.id})
            self.turned()

    def _has_answered(self, now: datetime) -> bool:
        """Say that a drain is obeyed, if there is one and nothing can begin any more; whether all is said."""
        drained_at = self._worker.drained_at
        if drained_at is None or self._worker.drain_seen_at is not None:
            return True
        if not self.quiet():
            return False
        if self._store.workers.note_drained(self._worker.id, drained_at, now):
            self._worker = msgspec.structs.replace(self._worker, drain_seen_at=now)
        return True  # if it was refused, somebody changed it: heard of at the next look

    def _is_news(self, worker: Worker) -> bool:
        known = self._put
        return known is None or (known.jobs, known.stopping) != (worker.jobs, worker.stopping)

    def say_stopping(self) -> None:
        """It takes no more runs, and ends what it has."""
        self._stopping = True
        self.wake()

    def remove(self) -> None:
        """At a clean stop. Where that fails, the list shows it as lost, and it is removed in the end."""
        if self._put is not None:
            with contextlib.suppress(StoreError):
                self._store.workers.remove([self._worker.id])
