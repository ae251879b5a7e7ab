"""The verbs about workers that every SQL store has alike."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from workbell.model.worker import Worker
from workbell.stores import rows
from workbell.stores.rows import to_utc
from workbell.stores.session import Session

T = TypeVar("T")

SERVICE = "service/"  # begins the names of facts about who serves the API


class SqlWorkers(ABC):
    """The registry of workers over a `Session`."""

    @abstractmethod
    def read(self, work: Callable[[Session], T]) -> T: ...

    @abstractmethod
    def write(self, work: Callable[[Session], T]) -> T: ...

    def put_worker(self, worker: Worker) -> datetime | None:
        found = self.write(lambda session: session.rows("put_worker", **rows.worker_values(worker)))
        return to_utc(found[0][0])

    def see_workers(self, ids: Sequence[str], now: datetime) -> None:
        if ids:
            self.write(lambda session: session.rows("see_workers", ids=list(ids), now=now))

    def remove_workers(self, ids: Sequence[str]) -> None:
        if ids:
            self.write(lambda session: session.rows("remove_workers", ids=list(ids)))

    def drain_worker(self, worker_id: str, now: datetime) -> Worker | None:
        return _first(self.write(lambda session: session.rows("drain_worker", id=worker_id, now=now)))

    def note_drained(self, worker_id: str, drained_at: datetime, now: datetime) -> bool:
        values = {"id": worker_id, "drained_at": drained_at, "now": now}
        return bool(self.write(lambda session: session.rows("note_drained", **values)))

    def resume_worker(self, worker_id: str) -> Worker | None:
        return _first(self.write(lambda session: session.rows("resume_worker", id=worker_id)))

    def find_worker(self, worker_id: str) -> Worker | None:
        return _first(self.read(lambda session: session.rows("worker", id=worker_id)))

    def list_workers(self) -> list[Worker]:
        found = self.read(lambda session: [rows.worker_from(row) for row in session.rows("workers")])
        return sorted(found, key=lambda worker: worker.id)  # a database may have an order of its own for words

    def note_service(self, process: str, address: str) -> None:
        self.write(lambda session: session.rows("note_service", name=SERVICE + process, value=address))

    def forget_services(self, processes: Sequence[str]) -> None:
        if processes:
            names = [SERVICE + process for process in processes]
            self.write(lambda session: [session.rows("forget_service", name=name) for name in names])

    def services(self) -> dict[str, str]:
        found = self.read(lambda session: session.rows("services"))
        return {row[0].removeprefix(SERVICE): row[1] for row in found}


def _first(found: Sequence[Sequence[Any]]) -> Worker | None:
    return rows.worker_from(found[0]) if found else None
