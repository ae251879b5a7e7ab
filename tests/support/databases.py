"""Fresh databases, quickly: one that was used is emptied and given out again, unless a test has altered it.

Making and dropping a database takes half a second, emptying one a few milliseconds. What is handed out cannot be
told from a new copy of the template: any other table, changed version or great size ends a database's use.
"""

from __future__ import annotations

import psycopg

from .postgres import PostgresServer

LARGEST = 20_000_000  # bytes; an empty one has about eight million
OTHERS = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
UNCHANGED = "UPDATE workbell_meta SET value = '0' WHERE name = 'subscriptions'"  # it counts the changes of triggers
# From the catalogue itself: the views of the information schema take three times as long, after every test.
SHAPE = """
    SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod) FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' AND c.relkind IN ('r', 'p', 'v', 'm')
    AND a.attnum > 0 AND NOT a.attisdropped ORDER BY 1, 2
"""


class Databases:
    """The databases of one test process."""

    def __init__(self, server: PostgresServer, template: str) -> None:
        self._server = server
        self._template = template
        self._free: list[str] = []
        self._shape: object = None

    def take(self) -> str:
        """The URL of a database with Workbell's tables and nothing in them."""
        return self._free.pop() if self._free else self._server.create_database(self._template)

    def give_back(self, url: str) -> None:
        try:
            usable = self._emptied(url)
        except psycopg.Error:
            usable = False
        if usable:
            self._free.append(url)
        else:
            self._server.drop_database(url)

    def _emptied(self, url: str) -> bool:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(OTHERS)
            connection.execute(UNCHANGED)
            shape = self._look(connection)
            if self._shape is None:
                with psycopg.connect(self._server.url(self._template), autocommit=True) as original:
                    self._shape = self._look(original)
            size = connection.execute("SELECT pg_database_size(current_database())").fetchone()
            if shape != self._shape or size is None or size[0] > LARGEST:
                return False
            tables = {row[0] for row in shape[0]} - {"workbell_meta"}
            connection.execute(";".join(f'DELETE FROM "{table}"' for table in sorted(tables)))
        return True

    def _look(self, connection: psycopg.Connection) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
        columns = connection.execute(SHAPE).fetchall()
        meta = connection.execute("SELECT name, value FROM workbell_meta WHERE name <> 'store_id' ORDER BY name")
        return columns, meta.fetchall()
