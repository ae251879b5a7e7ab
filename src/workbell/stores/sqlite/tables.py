"""Tables of an engine that speaks SQLite's SQL: checked by reads, made and migrated by one guarded batch.

The engine gives two functions that execute a batch as its `read` and `write` do, but without checking the tables first.
The guard at the head of the batch refuses if another process has migrated in between; then we read again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from workbell.model.ids import new_id
from workbell.stores import migrate
from workbell.stores.database import Batch, Conflict, Row, Statement, Tables
from workbell.stores.sqlite.dialect import SQLITE

Execute = Callable[[Batch], list[list[Row]]]
_GUARDS = ("still_no_tables", "still_at_version")


class SqliteTables:
    """The schema behind two functions that read and write."""

    def __init__(self, read: Execute, write: Execute) -> None:
        self._read = read
        self._write = write

    def exists(self) -> bool:
        return bool(self._read([Statement("has_tables")])[0])

    def version(self) -> tuple[int, int]:
        found = {row[0]: int(row[1]) for row in self._read([Statement("schema_versions")])[0]}
        return found.get("schema_version", 0), found.get("oldest_reader", 0)

    def store_id(self) -> str:
        found = self._read([Statement("store_id")])[0]
        return str(found[0][0]) if found else ""

    def check(self, where: str) -> bool:
        """Whether there are any; raises SchemaMismatch if they cannot be worked with. `where` is for the message."""
        return migrate.check(self, where)

    def read(self) -> Tables | None:
        return migrate.read_tables(self)

    def migrate(self) -> list[str]:
        """Apply what is missing, all of it or nothing; the names of what was applied."""
        while True:
            version = self.version()[0] if self.exists() else None
            missing = migrate.missing(SQLITE.engine, version or 0)
            if version is not None and not missing:
                return []
            try:
                self._write(list(_migrating(version, missing)))
            except Conflict as conflict:
                if conflict.query not in _GUARDS:
                    raise
            else:
                return [name for _, name, _ in missing]


def _migrating(version: int | None, missing: Sequence[tuple[int, str, str]]) -> Iterator[Statement]:
    if version is None:
        yield Statement("still_no_tables", exactly=1)
        yield Statement("make_meta", text=migrate.META)
        yield _note("store_id", new_id())
    else:
        yield Statement("still_at_version", {"version": version}, exactly=1)
    for _, name, text in missing:
        # Statement by statement: what executes a whole script would commit the transaction first.
        yield from (Statement(name, text=part) for part in text.split(";\n") if part.strip())
    yield _note("schema_version", str(missing[-1][0]))
    yield _note("oldest_reader", str(migrate.OLDEST_READER))


def _note(name: str, value: str) -> Statement:
    return Statement("note_meta", {"name": name, "value": value})
