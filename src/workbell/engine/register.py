"""Register: this worker in the store's list of workers, seen every few seconds and gone when it stops."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from datetime import datetime

import msgspec

from workbell.errors import StoreError
from workbell.handlers.registry import Registry
from workbell.model.worker import BEAT, Worker
from workbell.stores.port import Store
from workbell.version import __version__

LOOK = 1.0  # seconds after which others know of jobs that were loaded or dropped


class Register:
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
        self.wake: Callable[[], None] = lambda: None

    def step(self, now: datetime) -> float:
        jobs = tuple(self._registry.served)
        begun = self._worker.started_at if self._put is not None else now
        worker = msgspec.structs.replace(
            self._worker, jobs=jobs, started_at=begun, seen_at=now, stopping=self._stopping
        )
        if self._is_news(worker) or self._store.clock.monotonic() >= self._next:
            self._store.put_worker(worker)
            self._worker = self._put = worker
            self._next = self._store.clock.monotonic() + BEAT
        return LOOK

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
                self._store.remove_workers([self._worker.id])
