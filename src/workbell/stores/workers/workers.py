"""The registry of workers, in the store."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from workbell.model.worker import Worker
from workbell.stores.database import Database, Row, Statement, read_rows, write_rows
from workbell.stores.pending_entry import write_guarded
from workbell.stores.reading import Column, RowReader, optional
from workbell.stores.times import to_utc

_names = msgspec.json.Decoder(tuple[str, ...])
WORKER = tuple(name for name in Worker.__struct_fields__ if name != "unreadable")
_rows = RowReader(
    WORKER,
    "a worker that runs writes its row anew when it is started again.",
    queues=Column(optional(_names.decode), ()),
    jobs=Column(_names.decode, ()),
)


Listed = list[Worker]  # inside the class `list` is the verb


class StoredWorkers:
    """Workers: since when each works, and whether it is drained."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, worker: Worker) -> datetime | None:
        """Make a worker known, or change what is known of it; since when it is drained, if it is.

        That, and whether it obeys, other verbs change: only of a worker that is new here it is taken over.
        """
        return to_utc(write_rows(self._database, "put_worker", **_values(worker))[0][0])

    def see(self, ids: Sequence[str], now: datetime) -> None:
        """Note that these are alive."""
        if ids:
            write_rows(self._database, "see_workers", ids=list(ids), now=now)

    def try_write(self, now: datetime) -> None:
        """Update no worker. Raises where the store cannot be written to, and leaves nothing behind. On a full disk it
        succeeds: nothing is stored."""
        write_rows(self._database, "see_workers", ids=[], now=now)

    def try_store(self) -> None:
        """Write a row as it is. Raises where nothing can be stored, also on a full disk."""
        write_rows(self._database, "write_back")

    def remove(self, ids: Sequence[str]) -> None:
        if ids:
            write_rows(self._database, "remove_workers", ids=list(ids))

    def drain(self, worker_id: str, now: datetime) -> Worker | None:
        """Drain a worker: it claims nothing more. If it is drained already, since then. None: it is unknown."""
        return _first(write_guarded(self._database, Statement("drain_worker", {"id": worker_id, "now": now})))

    def note_drained(self, worker_id: str, drained_at: datetime, now: datetime) -> bool:
        """The worker confirms its drain. False: it is not drained, or was drained again since it read that."""
        return bool(write_rows(self._database, "note_drained", id=worker_id, drained_at=drained_at, now=now))

    def resume(self, worker_id: str) -> Worker | None:
        """Let a drained worker claim again. None: it is unknown."""
        return _first(write_guarded(self._database, Statement("resume_worker", {"id": worker_id})))

    def find(self, worker_id: str) -> Worker | None:
        return _first(read_rows(self._database, "worker", id=worker_id))

    def list(self) -> Listed:
        """Every worker that has not been removed, by id; also those that were not seen for long."""
        found = [_worker(row) for row in read_rows(self._database, "workers")]
        return sorted(found, key=lambda worker: worker.id)  # a database may have an order of its own for words

    def held(self) -> dict[str, int]:
        """Numbers of running runs by worker, of all tenants."""
        return {row[0]: row[1] for row in read_rows(self._database, "held_by_worker")}


def _values(worker: Worker) -> dict[str, Any]:
    queues = None if worker.queues is None else msgspec.json.encode(worker.queues).decode()
    return msgspec.structs.asdict(worker) | {"queues": queues, "jobs": msgspec.json.encode(worker.jobs).decode()}


def _worker(row: Row) -> Worker:
    values = _rows.read(row)
    unreadable = values["unreadable"]
    values |= {"stopping": bool(values["stopping"]), "unreadable": unreadable and unreadable.sentence}
    return Worker(**values)


def _first(found: Sequence[Row]) -> Worker | None:
    return _worker(found[0]) if found else None
