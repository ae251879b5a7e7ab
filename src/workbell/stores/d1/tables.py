"""Tables in D1: checked by reads, made and migrated by one guarded batch for each migration.

All of them together have more statements than a batch may have. Tables that are being made carry a mark: a process
that comes meanwhile, or after one that has died on the way, goes on where it stands. Tables of an older version have
no mark and wait for `workbell migrate`, as everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator

from workbell.model.ids import new_id
from workbell.stores import migrate
from workbell.stores.d1.query_set import migration_steps
from workbell.stores.database import Conflict, Statement, Tables
from workbell.stores.sqlite.dialect import SQLITE
from workbell.stores.sqlite.tables import Execute, SqliteTables

GUARDS = ("still_no_tables", "still_at_version")


class D1Tables:
    """The tables that two functions lead to; they execute a batch without checking the tables first."""

    def __init__(self, read: Execute, write: Execute) -> None:
        self._read = read
        self._write = write
        self._seen = SqliteTables(read, write)

    def make_ready(self, where: str) -> None:
        """Make the tables if there are none; raise SchemaMismatch if they cannot be worked with."""
        if not self._seen.exists() or self._are_being_made():
            self.migrate()
        self._seen.check(where)

    def read(self) -> Tables | None:
        return self._seen.read()

    def migrate(self) -> list[str]:
        """Apply what is missing; the names of what was applied here."""
        done: list[str] = []
        while True:
            version = self._seen.version()[0] if self._seen.exists() else None
            missing = migrate.missing(SQLITE.engine, version or 0)
            if version is not None and not missing:
                return done
            number, name, _ = missing[0]
            try:
                self._write(list(_migrating(version, number, last=len(missing) == 1)))
            except Conflict as conflict:
                if conflict.query not in GUARDS:  # somebody else has done this one
                    raise
            else:
                done.append(name)

    def _are_being_made(self) -> bool:
        return bool(self._read([Statement("is_making")])[0])


def _migrating(version: int | None, number: int, *, last: bool) -> Iterator[Statement]:
    if version is None:
        yield Statement("still_no_tables", exactly=1)
        yield Statement("make_meta")
        yield _note("store_id", new_id())
        yield _note("making", "1")
    else:
        yield Statement("still_at_version", {"version": version}, exactly=1)
    yield from (Statement(name) for name, _ in migration_steps(number))
    yield _note("schema_version", str(number))
    yield _note("oldest_reader", str(migrate.OLDEST_READER))
    if last:
        yield Statement("made")


def _note(name: str, value: str) -> Statement:
    return Statement("note_meta", {"name": name, "value": value})
