"""Records of rewinds: the runs about which a process knew more than the store that went back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from workbell.model.ids import LAST_ID
from workbell.model.rewind import Rewind, RewindKind, Standing
from workbell.model.run import Status
from workbell.stores.database import Database, Row, Rows, Statement, read_rows, write_rows
from workbell.stores.reading import Column, RowReader

REWIND = Rewind.__struct_fields__
_rows = RowReader(REWIND, "the rest is as it was noted.", kind=Column(RewindKind, RewindKind.LEASE))
RETENTION = timedelta(days=30)
PAGE = 1000  # runs in one statement

Listed = list[Rewind]  # inside the class `list` is the verb


class StoredRewinds:
    """What processes noticed, and the comparison with which they did."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def standings(self, ids: Sequence[str]) -> dict[str, Standing]:
        """Runs as the store has them, live or finished; without those that it does not have."""
        found: dict[str, Standing] = {}
        for first in range(0, len(ids), PAGE):
            for run_id, status, token, attempt, worker, updated_at in read_rows(
                self._database, "standings", ids=list(ids[first : first + PAGE])
            ):
                found[run_id] = Standing(Status(status), token, attempt, worker, updated_at.astimezone(UTC))
        return found

    def ended_tokens(self, attempts: Sequence[tuple[str, int]]) -> dict[tuple[str, int], int]:
        """The tokens of those attempts, by run and number, that have ended in the store."""
        found: dict[tuple[str, int], int] = {}
        for first in range(0, len(attempts), PAGE):
            rows = Rows(("run", "number"), attempts[first : first + PAGE])
            for run_id, number, token in read_rows(self._database, "ended_tokens", rows=rows):
                found[run_id, number] = token
        return found

    def add(self, new: Sequence[Rewind]) -> None:
        """Note runs that a rewind concerns. A batch that is sent again adds nothing."""
        for first in range(0, len(new), PAGE):
            rows = [msgspec.structs.astuple(one) for one in new[first : first + PAGE]]
            self._database.write([Statement("add_rewinds", {"rows": Rows(REWIND, rows)})])

    def list(self, tenant: str | None, *, before: str | None = None, limit: int) -> Listed:
        """Those of a tenant, or of all, newest first."""
        values: dict[str, Any] = {"before": before or LAST_ID, "limit": limit}
        name = "all_rewinds"
        if tenant is not None:
            name, values["tenant"] = "list_rewinds", tenant
        return [_rewind(row) for row in read_rows(self._database, name, **values)]

    def of_run(self, run_id: str, limit: int = 10) -> Listed:
        """Those of a run, oldest first."""
        return [_rewind(row) for row in read_rows(self._database, "rewinds_of_run", run=run_id, limit=limit)]

    def prune(self, now: datetime, limit: int) -> int:
        """Remove those whose retention is over; how many."""
        return len(write_rows(self._database, "delete_rewinds", before=now - RETENTION, limit=limit))


def _rewind(row: Row) -> Rewind:
    values = _rows.read(row)
    if unreadable := values.pop("unreadable"):
        values["detail"] = f"{values['detail']} ({unreadable})"
    return Rewind(**values)
