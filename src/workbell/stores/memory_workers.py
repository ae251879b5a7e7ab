"""The registry of workers in a dict: a part of the memory store."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import datetime

import msgspec

from workbell.model.worker import Worker


class MemoryWorkers:
    """What it shares with the rest of the store is named here and made there."""

    _lock: threading.RLock
    _workers: dict[str, Worker]

    def put_worker(self, worker: Worker) -> datetime | None:
        with self._lock:
            known = self._workers.get(worker.id)
            drained_at = worker.drained_at if known is None else known.drained_at
            self._workers[worker.id] = msgspec.structs.replace(worker, drained_at=drained_at)
            return drained_at

    def see_workers(self, ids: Sequence[str], now: datetime) -> None:
        with self._lock:
            for worker_id in ids:
                if (known := self._workers.get(worker_id)) is not None:
                    self._workers[worker_id] = msgspec.structs.replace(known, seen_at=now)

    def remove_workers(self, ids: Sequence[str]) -> None:
        with self._lock:
            for worker_id in ids:
                self._workers.pop(worker_id, None)

    def drain_worker(self, worker_id: str, now: datetime) -> Worker | None:
        with self._lock:
            known = self._workers.get(worker_id)
            return None if known is None else self._set_drained(known, known.drained_at or now)

    def resume_worker(self, worker_id: str) -> Worker | None:
        with self._lock:
            known = self._workers.get(worker_id)
            return None if known is None else self._set_drained(known, None)

    def _set_drained(self, known: Worker, at: datetime | None) -> Worker:
        changed = self._workers[known.id] = msgspec.structs.replace(known, drained_at=at)
        return changed

    def find_worker(self, worker_id: str) -> Worker | None:
        with self._lock:
            return self._workers.get(worker_id)

    def list_workers(self) -> list[Worker]:
        with self._lock:
            return sorted(self._workers.values(), key=lambda worker: worker.id)
