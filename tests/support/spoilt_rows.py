"""Garbage in the tables behind a store, by plain SQL, as another program or a damaged file leaves it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

COLUMNS = {
    "sqlite": "SELECT m.name, c.name FROM sqlite_master AS m, pragma_table_info(m.name) AS c "
    "WHERE m.type = 'table' AND m.name LIKE 'workbell_%' AND c.type = 'TEXT' AND c.pk = 0",
    "postgres": "SELECT table_name, column_name FROM information_schema.columns AS c "
    "WHERE table_schema = 'public' AND table_name LIKE 'workbell_%' AND data_type = 'text' AND NOT EXISTS "
    "(SELECT FROM information_schema.key_column_usage AS k JOIN information_schema.table_constraints AS t "
    "USING (constraint_name, table_name) WHERE t.constraint_type = 'PRIMARY KEY' AND k.table_name = c.table_name "
    "AND k.column_name = c.column_name)",
}
NOT_LISTED = {"workbell_meta"}  # not rows of things: the store itself


class Rows:
    """The tables behind a store, by plain SQL."""

    def __init__(self, url: str) -> None:
        self.engine = "postgres" if url.startswith("postgres") else "sqlite"
        self._mark = "%s" if self.engine == "postgres" else "?"
        self._connection: Any = (
            psycopg.connect(url, autocommit=True)
            if self.engine == "postgres"
            else sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None, timeout=30)
        )

    def columns(self) -> list[tuple[str, str]]:
        """Tables and their text columns, but for keys."""
        found = self._connection.execute(COLUMNS[self.engine]).fetchall()
        return [(table, column) for table, column in found if table not in NOT_LISTED]

    def spoil(self, table: str, column: str, garbage: str, where: str = "true") -> None:
        """Put garbage into rows."""
        changed = self._connection.execute(f"UPDATE {table} SET {column} = {self._mark} WHERE {where}", [garbage])
        assert changed.rowcount, f"{table} has no row where {where}"

    @contextmanager
    def spoilt(self, table: str, column: str, garbage: str, where: str = "true") -> Iterator[bool]:
        """Garbage in one row, until the end; false, if the store itself refuses it, or there is no such row."""
        row = self._connection.execute(f"SELECT * FROM {table} WHERE {where} ORDER BY 1 LIMIT 1")
        names = [one[0] for one in row.description]
        found = row.fetchone()
        if found is None:
            yield False
            return
        before = dict(zip(names, found, strict=True))
        # By all its values: some tables have no number of a row, and an update moves one on PostgreSQL.
        same = " AND ".join(f"{name} IS NOT DISTINCT FROM {self._mark}" for name in names if name != column)
        others = [before[name] for name in names if name != column]
        update = f"UPDATE {table} SET {column} = {self._mark} WHERE {same}"
        try:
            self._connection.execute(update, [garbage, *others])
        except (sqlite3.IntegrityError, psycopg.IntegrityError):
            yield False
            return
        try:
            yield True
        finally:
            keys = names[0]
            self._connection.execute(
                f"UPDATE {table} SET {column} = {self._mark} WHERE {keys} = {self._mark} AND {column} = {self._mark}",
                [before[column], before[keys], garbage],
            )

    def close(self) -> None:
        self._connection.close()
