"""The audit log, in the store: who did what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import msgspec

from workbell.model.audit import AuditEntry
from workbell.model.ids import FIRST_ID, LAST_ID
from workbell.model.state import Retention
from workbell.stores.database import Batch, Database, Row, Rows, Statement, read_rows, write_rows
from workbell.stores.times import fields_in_utc

AUDIT = tuple(name.removesuffix("_text") for name in AuditEntry.__struct_fields__)
PAGE = 1000


Listed = list[AuditEntry]  # inside the class `list` is the verb


class AuditLog:
    """The audit log. Entries are never changed; they are removed when their retention is over."""

    def __init__(self, database: Database, keep: Retention) -> None:
        self._database = database
        self._keep = keep

    def add(self, entries: Sequence[AuditEntry]) -> None:
        if entries:
            self._database.write([add_entries(entries)])

    def list(self, tenant: str | None, *, before: str | None, limit: int) -> Listed:
        """Entries of a tenant, or of all, newest first."""
        values: dict[str, Any] = {"before": before or LAST_ID, "limit": limit}
        name = "all_audit"
        if tenant is not None:
            name, values["tenant"] = "list_audit", tenant
        return [_entry(row) for row in read_rows(self._database, name, **values)]

    def prune(self, now: datetime, limit: int) -> int:
        """Remove entries whose retention is over; how many."""
        return len(write_rows(self._database, "delete_audit", before=now - self._keep.audit, limit=limit))

    def export(self) -> Iterator[Sequence[AuditEntry]]:
        """All entries, in pages, by id."""
        after = FIRST_ID
        while found := read_rows(self._database, "export_audit", after=after, limit=PAGE):
            page = [_entry(row) for row in found]
            yield page
            after = page[-1].id

    def loading(self, entries: Sequence[AuditEntry]) -> Batch:
        """The statement that takes over entries of another store."""
        return [add_entries(entries)]


def add_entries(entries: Sequence[AuditEntry]) -> Statement:
    """The statement that adds entries; those that are there already stay as they are."""
    return Statement("add_audit", {"rows": Rows(AUDIT, [msgspec.structs.astuple(entry) for entry in entries])})


def _entry(row: Row) -> AuditEntry:
    return AuditEntry(**fields_in_utc(AuditEntry.__struct_fields__, row))
