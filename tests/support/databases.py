"""Fresh databases, quickly: one that was used is emptied and given out again, unless a test has altered it.

Making and dropping a database takes half a second, emptying one a few milliseconds: its connection is kept for that.
What is handed out cannot be told from a new copy of the template: any other table or column, changed version or great
size ends a database's use.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

import psycopg

from workbell.stores.port import Store
from workbell.stores.postgres.connections import usable
from workbell.stores.postgres.store import PostgresStore

from .postgres import PostgresServer

LARGEST = 10_000_000  # bytes of tables; empty ones have next to nothing
OTHERS = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND pid <> %s
"""
BUSY = f"{OTHERS} AND state <> 'idle'"  # a pooler keeps idle ones, and would hand out one that has just been ended
UNCHANGED = "UPDATE workbell_meta SET value = '0' WHERE name = 'subscriptions'"  # it counts the changes of triggers
# From the catalogue itself, and summed up there: this is asked after every test.
SHAPE = """
    SELECT count(*), sum(hashtextextended(concat_ws(' ', c.relname, a.attname, a.atttypid, a.atttypmod), 0))
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' AND c.relkind IN ('r', 'p', 'v', 'm')
    AND a.attnum > 0 AND NOT a.attisdropped
"""
META = "SELECT name, value FROM workbell_meta WHERE name <> 'store_id' ORDER BY name"
OURS = "FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'"
TABLES = f"SELECT relname {OURS}"
SIZE = f"SELECT sum(pg_relation_size(oid)) {OURS}"

Shape = list[tuple[object, ...]]


class Databases:
    """The databases of one test process."""

    def __init__(self, server: PostgresServer, template: str, *, pooled: bool = False) -> None:
        self._server = server
        self._ending = BUSY if pooled else OTHERS
        self._template = template
        self._free: list[str] = []
        self._connections: dict[str, psycopg.Connection] = {}
        self._kept: dict[str, psycopg.Connection[Any]] = {}
        self._shape: Shape = []
        self._emptying = ""

    def take(self) -> str:
        """The URL of a database with Workbell's tables and nothing in them."""
        return self._free.pop() if self._free else self._server.create_database(self._template)

    def give_back(self, url: str) -> None:
        try:
            usable = self._emptied(url)
        except psycopg.Error:  # also a test that has ended all connections, ours among them
            usable = False
        if usable:
            self._free.append(url)
        else:
            self._close(url)
            self._server.drop_database(url)

    def lend(self, url: str, store: Store) -> None:
        """Give a new store the connection that an earlier one has opened: that takes the server ten milliseconds."""
        kept = self._kept.pop(url, None)
        if kept is not None and usable(kept):
            assert isinstance(store, PostgresStore)
            store.calls.connections._idle.append((kept, time.monotonic()))
        elif kept is not None:
            kept.close()

    def keep(self, url: str, store: Store) -> None:
        """At the end of a test, unless there is none, or the test has ended it."""
        assert isinstance(store, PostgresStore)
        with suppress(IndexError):  # none is idle, or a hint that is being sent has taken it
            last, _ = store.calls.connections._idle.pop()
            if usable(last):
                self._kept[url] = last
            else:
                last.close()

    def close(self) -> None:
        for url in {*self._connections, *self._kept}:
            self._close(url)

    def _close(self, url: str) -> None:
        for held in (self._connections, self._kept):
            if url in held:
                held.pop(url).close()

    def _emptied(self, url: str) -> bool:
        if not self._shape:
            with psycopg.connect(self._server.url(self._template), autocommit=True) as original:
                self._shape = _look(original)
                tables = sorted({str(name) for (name,) in original.execute(TABLES)} - {"workbell_meta"})
                self._emptying = ";".join(f'DELETE FROM "{table}"' for table in tables)
        connection = self._connection(url)
        kept = self._kept.get(url)
        connection.execute(self._ending, [kept.info.backend_pid if kept else 0])
        connection.execute(UNCHANGED)
        size = connection.execute(SIZE).fetchone()
        if _look(connection) != self._shape or size is None or size[0] > LARGEST:
            return False
        connection.execute(self._emptying)
        return True

    def _connection(self, url: str) -> psycopg.Connection:
        if url not in self._connections:
            # What this one writes need not survive a crash, so it does not wait for the disk.
            options = "-c synchronous_commit=off"
            self._connections[url] = psycopg.connect(url, autocommit=True, options=options)
        return self._connections[url]


def _look(connection: psycopg.Connection) -> Shape:
    return connection.execute(SHAPE).fetchall() + connection.execute(META).fetchall()
