"""Schema versions: which one a store has, whether this code can work with it, and how to bring it up to date.

Versions overlap: a schema says which is the oldest code that can work with it, so that old and new processes run
side by side during a deploy. A store without any tables is set up on first use; an older one waits for the command.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Protocol

from workbell.errors import SchemaMismatch
from workbell.model.ids import new_id
from workbell.stores.database import Tables
from workbell.stores.queries import migrations
from workbell.stores.session import Session

OLDEST = 1  # the oldest schema this code can work with
NEWEST = 1  # the newest schema this code knows
OLDEST_READER = 1  # the oldest code (by the newest schema it knows) that can work with the schema made here
LOCK = 2.0  # seconds to wait for a table: all that queue behind wait as long, and a reader may take hours


class SchemaTables(Protocol):
    """The schema of an engine, read only."""

    def exists(self) -> bool: ...

    def version(self) -> tuple[int, int]:
        """The schema's version, and the oldest code that can work with it."""

    def store_id(self) -> str: ...


class Schema(SchemaTables, Protocol):
    """Migrations within one transaction, for engines that have one; SQLite and D1 migrate by batches."""

    engine: str

    def lock(self) -> None: ...

    def expect(self, texts: Iterable[str]) -> None:
        """Check before these are applied: fail now rather than after half of the work."""

    def script(self, text: str) -> None: ...

    def note(self, name: str, value: str) -> None: ...


REPLACE = "ON CONFLICT (name) DO UPDATE SET value = excluded.value"
OUR_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = ANY(current_schemas(false))"
META = "CREATE TABLE workbell_meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)"


def check(schema: SchemaTables, where: str) -> bool:
    """Whether the tables are there; raises if they are there but cannot be worked with."""
    if not schema.exists():
        return False
    version, oldest_reader = schema.version()
    if version < OLDEST:
        raise SchemaMismatch(
            f"{where} has schema {version} and this Workbell needs at least {OLDEST}; run `workbell migrate`."
        )
    if version > NEWEST < oldest_reader:
        raise _newer(where, version)
    return True


def read_tables(schema: SchemaTables) -> Tables | None:
    """The version and identity of the tables, if there are any."""
    return Tables(schema.version()[0], schema.store_id()) if schema.exists() else None


def missing(engine: str, version: int) -> list[tuple[int, str, str]]:
    """The migrations after a version: number, name, SQL; raises if the version is one that this code does not know."""
    if version > NEWEST:
        raise _newer("The store", version)
    return [migration for migration in migrations(engine) if migration[0] > version]


def _newer(where: str, version: int) -> SchemaMismatch:
    return SchemaMismatch(
        f"{where} has schema {version}, which is newer than this Workbell knows ({NEWEST}); "
        "upgrade it with `pip install --upgrade workbell`."
    )


def run(schema: Schema) -> list[str]:
    """Apply what is missing, in one transaction, under a lock; the names of what was applied."""
    schema.lock()
    version = 0
    if schema.exists():
        version, _ = schema.version()
    else:
        schema.script(META)
        schema.note("store_id", new_id())
    to_do = missing(schema.engine, version)
    schema.expect(text for _, _, text in to_do)
    for _, _, text in to_do:
        schema.script(text)
    if to_do:
        schema.note("schema_version", str(to_do[-1][0]))
        schema.note("oldest_reader", str(OLDEST_READER))
    return [name for _, name, _ in to_do]


def altered(text: str) -> set[str]:
    """The tables that a migration alters: nobody may read them meanwhile."""
    return set(re.findall(r"^ALTER TABLE (workbell_\w+)", text, re.MULTILINE))


def dump(engine: str) -> str:
    """All the SQL of an engine's schema, for those who run migrations themselves."""
    parts = [META + ";"]
    for number, _name, text in migrations(engine):
        parts.append(text.rstrip())
        noted = f"('schema_version', '{number}'), ('oldest_reader', '{OLDEST_READER}')"
        parts.append(f"INSERT INTO workbell_meta (name, value) VALUES {noted} {REPLACE};")  # noqa: S608
    unique = "CAST(gen_random_uuid() AS text)" if engine == "postgres" else "lower(hex(randomblob(16)))"
    parts.append(f"INSERT INTO workbell_meta (name, value) VALUES ('store_id', {unique});")  # noqa: S608
    return "\n\n".join(parts) + "\n"


class PostgresSchema:
    engine = "postgres"

    def __init__(self, session: Session) -> None:
        self._session = session

    def version(self) -> tuple[int, int]:
        query = "SELECT name, value FROM workbell_meta WHERE name IN ('schema_version', 'oldest_reader')"
        found = {row[0]: int(row[1]) for row in self._session.text_rows(query, {})}
        return found.get("schema_version", 0), found.get("oldest_reader", 0)

    def note(self, name: str, value: str) -> None:
        self._session.text_rows(
            f"INSERT INTO workbell_meta (name, value) VALUES (:name, :value) {REPLACE}",  # noqa: S608
            {"name": name, "value": value},
        )

    def store_id(self) -> str:
        found = self._session.rows("store_id")
        return str(found[0][0]) if found else ""

    def exists(self) -> bool:
        # A query, not to_regclass: that may answer from the connection's cache of names, which misses a table
        # that another process made while this one waited for the lock.
        query = "SELECT 1 FROM pg_tables WHERE tablename = 'workbell_meta' AND schemaname = ANY(current_schemas(true))"
        return bool(self._session.text_rows(query, {}))

    def lock(self) -> None:
        self._session.text_rows("SELECT pg_advisory_xact_lock(7823001)", {})
        self._session.text_rows(f"SET LOCAL lock_timeout = {round(LOCK * 1000)}", {})

    def expect(self, texts: Iterable[str]) -> None:
        """Lock the tables and release them again: else an index that takes minutes would be built in vain, again and
        again, because a later table is being read."""
        there = {row[0] for row in self._session.text_rows(OUR_TABLES, {})}
        wanted = sorted(there & {table for text in texts for table in altered(text)})
        if wanted:
            locks = f"LOCK TABLE {', '.join(wanted)} IN ACCESS EXCLUSIVE MODE"
            self._session.text_rows(f"SAVEPOINT expected; {locks}; ROLLBACK TO SAVEPOINT expected", {})

    def script(self, text: str) -> None:
        self._session.text_rows(text, {})
