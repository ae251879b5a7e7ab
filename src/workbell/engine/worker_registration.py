"""Registration of this worker in the store's list of workers: a heartbeat every few seconds, removed at a stop.

The row also says whether an operator drains the worker or lets it go on: read with every heartbeat, and soon after a
hint. Once nothing more can begin here, the worker notes that it has obeyed.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Sequence
from datetime import datetime

import msgspec

from workbell.engine.duty import Pacing, Waker
from workbell.engine.held_runs import HeldRuns
from workbell.errors import StoreError
from workbell.handlers.registry import Registry
from workbell.model.worker import BEAT, Worker
from workbell.stores.port import Store
from workbell.version import __version__

log = logging.getLogger("workbell.engine")

JOBS_PACE = 1.0  # seconds until loaded or dropped jobs are written
GAP = 0.25  # seconds from a hint to a read: hardly one of them is about this worker
DRAIN_PACE = 0.05  # seconds between checks of what is held, until nothing of it can begin


class WorkerRegistration:
    """Heartbeat of a worker: writes the whole row each time, so that one removed after missed heartbeats is back."""

    def __init__(
        self,
        store: Store,
        registry: Registry,
        held: HeldRuns,
        worker: str,
        queues: Sequence[str] | None,
        concurrency: int,
        waker: Waker | None = None,
    ) -> None:
        self._store = store
        self._registry = registry
        self._held = held
        self.waker = waker or Waker()
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
        self._pacing = Pacing(BEAT, GAP, self.waker)
        self.hint = self._pacing.hint  # an operator may have drained it

    def step(self, now: datetime) -> float:
        jobs = tuple(self._registry.served)
        begun = self._worker.started_at if self._put is not None else now
        worker = msgspec.structs.replace(
            self._worker, jobs=jobs, started_at=begun, seen_at=now, stopping=self._stopping
        )
        # Not a read now and the heartbeat, which reads as well, a moment later.
        if self._is_news(worker) or self._store.clock.monotonic() >= self._next - GAP:
            drained_at = self._store.workers.put(worker)
            self._worker = self._put = worker
            self._next = self._store.clock.monotonic() + BEAT
            self._obey(drained_at, now)
        elif self._pacing.left(now) is None:
            found = self._store.workers.find(worker.id)
            self._obey(self._worker.drained_at if found is None else found.drained_at, now)
        if not self._has_answered(now):
            return min(DRAIN_PACE, self._pacing.left(now) or 0)
        return min(JOBS_PACE, self._pacing.left(now) or 0)

    def _obey(self, drained_at: datetime | None, now: datetime) -> None:
        self._pacing.again(now + self._pacing.poll)
        was = self._worker
        if was.drained_at != drained_at:  # also one that was resumed and drained between two reads answers again
            self._worker = msgspec.structs.replace(was, drained_at=drained_at, drain_seen_at=None)
        if (was.drained_at is None) != (drained_at is None):
            text = "goes on: it claims runs again" if drained_at is None else "is drained: it ends what it has begun"
            log.info("worker %s %s", was.id, text, extra={"worker_id": was.id})
            self._held.drain(drained_at is not None)

    def _has_answered(self, now: datetime) -> bool:
        """Confirm a drain once nothing can begin any more; return whether there is nothing left to confirm."""
        drained_at = self._worker.drained_at
        if drained_at is None or self._worker.drain_seen_at is not None:
            return True
        if not self._held.is_quiet():
            return False
        if self._store.workers.note_drained(self._worker.id, drained_at, now):
            self._worker = msgspec.structs.replace(self._worker, drain_seen_at=now)
        return True  # refused: the row was changed meanwhile, and is read at the next poll

    def _is_news(self, worker: Worker) -> bool:
        known = self._put
        return known is None or (known.jobs, known.stopping) != (worker.jobs, worker.stopping)

    def note_stopping(self) -> None:
        """Show others that it takes no more runs, and ends what it has."""
        self._stopping = True
        self.waker.wake()

    def remove(self) -> None:
        """At a clean stop. Where that fails, the list shows it as lost, and it is removed in the end."""
        if self._put is not None:
            with contextlib.suppress(StoreError):
                self._store.workers.remove([self._worker.id])
