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
    _services: dict[str, str]

    def put_worker(self, worker: Worker) -> datetime | None:
        with self._lock:
            known = self._workers.get(worker.id)
            if known is not None:
                worker = _drained(worker, known.drained_at, known.drain_seen_at)
            self._workers[worker.id] = worker
            return worker.drained_at

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
            if known is None:
                return None
            self._workers[worker_id] = _drained(known, known.drained_at or now, known.drain_seen_at)
            return self._workers[worker_id]

    def note_drained(self, worker_id: str, drained_at: datetime, now: datetime) -> bool:
        with self._lock:
            known = self._workers.get(worker_id)
            if known is None or known.drained_at != drained_at:
                return False
            self._workers[worker_id] = _drained(known, drained_at, now)
            return True

    def resume_worker(self, worker_id: str) -> Worker | None:
        with self._lock:
            known = self._workers.get(worker_id)
            if known is None:
                return None
            self._workers[worker_id] = _drained(known, None, None)
            return self._workers[worker_id]

    def find_worker(self, worker_id: str) -> Worker | None:
        with self._lock:
            return self._workers.get(worker_id)

    def list_workers(self) -> list[Worker]:
        with self._lock:
            return sorted(self._workers.values(), key=lambda worker: worker.id)

    def note_service(self, process: str, address: str) -> None:
        with self._lock:
            self._services[process] = address

    def forget_services(self, processes: Sequence[str]) -> None:
        with self._lock:
            for process in processes:
                self._services.pop(process, None)

    def list_services(self) -> dict[str, str]:
        with self._lock:
            return dict(self._services)


def _drained(worker: Worker, since: datetime | None, seen_at: datetime | None) -> Worker:
    return msgspec.structs.replace(worker, drained_at=since, drain_seen_at=seen_at)
