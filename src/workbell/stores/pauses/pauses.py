"""Pauses of queues and jobs, in the store. In the table, an empty name stands for all."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from workbell.model.pause import Pause
from workbell.stores.database import Batch, Database, Row, Statement, read_rows
from workbell.stores.pending_entry import write_action

Listed = list[Pause]  # inside the class `list` is the verb


class StoredPauses:
    """Pauses in the store: paused lanes are left out of every survey, and so never claimed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, tenant: str, queue: str | None, job: str | None, now: datetime) -> Pause:
        """Pause a queue, a job, or a job in a queue; the pause as it stands."""
        values = {"tenant": tenant, "queue": queue or "", "job": job or ""}
        batch = [Statement("add_pause", values | {"created_at": now}), Statement("find_pause", values)]
        made = _pause(write_action(self._database, batch)[1][0])
        self._database.wake()
        return made

    def remove(self, tenant: str, queue: str | None, job: str | None) -> int:
        """End the pauses of a queue, of a job, or of a job in a queue; how many there were."""
        ending = Statement("remove_pauses", {"tenant": tenant, "queue": queue, "job": job})
        (gone,) = write_action(self._database, [ending])
        self._database.wake()
        return len(gone)

    def list(self, tenant: str | None = None) -> Listed:
        """The pauses of a tenant, or of all."""
        if tenant is None:
            rows = read_rows(self._database, "pauses")
        else:
            rows = read_rows(self._database, "pauses_of_tenant", tenant=tenant)
        return sorted(map(_pause, rows), key=lambda pause: (pause.tenant, pause.position))

    def loading(self, pauses: Sequence[Pause]) -> Batch:
        """The statements that take over pauses of another store."""
        return [
            Statement(
                "load_pause",
                {
                    "tenant": pause.tenant,
                    "queue": pause.queue or "",
                    "job": pause.job or "",
                    "created_at": pause.since,
                },
            )
            for pause in pauses
        ]


def _pause(row: Row) -> Pause:
    return Pause(row[0], row[1] or None, row[2] or None, row[3].astimezone(UTC))
