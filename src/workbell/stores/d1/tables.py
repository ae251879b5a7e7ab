"""Tables in D1: checked by reads, made and migrated by guarded batches.

A migration may have more statements than a batch may have. So `workbell_meta` says how many of them are done: a process
that comes meanwhile, or after one that has died on the way, goes on where it stands. A migration that nobody has begun
waits for `workbell migrate`, as everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator

from workbell.model.ids import new_id
from workbell.stores import migrate
from workbell.stores.d1.batches import MOST_STATEMENTS
from workbell.stores.d1.query_set import migration_steps
from workbell.stores.database import Conflict, Statement, Tables
from workbell.stores.sqlite.dialect import SQLITE
from workbell.stores.sqlite.tables import Execute, SqliteTables

GUARDS = ("still_no_tables", "still_at_step")
MOST_STEPS = MOST_STATEMENTS - 8  # statements of a migration in one batch, beside its guard and its notes


class D1Tables:
    """The tables that two functions lead to; they execute a batch without checking the tables first."""

    def __init__(self, read: Execute, write: Execute) -> None:
        self._read = read
        self._write = write
        self._seen = SqliteTables(read, write)

    def make_ready(self, where: str) -> None:
        """Make the tables if there are none; raise SchemaMismatch if they cannot be worked with."""
        if not self._seen.exists() or self._begun():
            self.migrate()
        self._seen.check(where)

    def read(self) -> Tables | None:
        return self._seen.read()

    def migrate(self) -> list[str]:
        """Apply what is missing; the names of the migrations that were completed here."""
        done: list[str] = []
        while True:
            version, step = (self._seen.version()[0], self._begun()) if self._seen.exists() else (None, 0)
            missing = migrate.missing(SQLITE.engine, version or 0)
            if version is not None and not missing:
                return done
            number, name, _ = missing[0]
            try:
                self._write(list(_migrating(version, number, step)))
            except Conflict as conflict:
                if conflict.query not in GUARDS:  # somebody else has gone on meanwhile
                    raise
            else:
                if step + MOST_STEPS >= len(migration_steps(number)):
                    done.append(name)

    def _begun(self) -> int:
        """How many statements of the next migration are done already."""
        found = self._read([Statement("steps_done")])[0]
        return int(found[0][0]) if found else 0


def _migrating(version: int | None, number: int, step: int) -> Iterator[Statement]:
    """The batch that goes on with a migration after so many of its statements."""
    if version is None:
        yield Statement("still_no_tables", exactly=1)
        yield Statement("make_meta")
        yield _note("store_id", new_id())
    else:
        yield Statement("still_at_step", {"version": version, "step": step}, exactly=1)
    steps, end = migration_steps(number), step + MOST_STEPS
    yield from (Statement(name) for name, _ in steps[step:end])
    if end < len(steps):
        yield _note("steps_done", str(end))
        return
    yield _note("schema_version", str(number))
    yield _note("oldest_reader", str(migrate.OLDEST_READER))
    yield Statement("forget_steps")


def _note(name: str, value: str) -> Statement:
    return Statement("note_meta", {"name": name, "value": value})
