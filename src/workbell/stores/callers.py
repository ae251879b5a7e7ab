"""Connections that belong to the caller: `connection=` for sqlite3, psycopg and SQLAlchemy, sync and async.

The statements of an enqueue run on the caller's connection, inside its transaction. We neither begin nor end
anything. The connection's database is checked to be the store's before the first statement.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from workbell.errors import WrongConnection
from workbell.model.run import Added, NewRun
from workbell.stores.sql_store import reject_duplicate

Spelled = tuple[str, str, dict[str, Any]]


class Request(NamedTuple):
    """One new run with its statements: name, SQL, values."""

    new: NewRun
    statements: Sequence[Spelled]


class Caller:
    """A connection of the caller's, reduced to `execute`."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def rows(self, sql: str, values: dict[str, Any] | None = None) -> list[Any]:
        cursor = self._connection.execute(sql, values or {})
        # sqlite3 always has a description for SELECT; psycopg refuses to fetch where there is none.
        return cursor.fetchall() if cursor.description else []

    async def arows(self, sql: str, values: dict[str, Any] | None = None) -> list[Any]:
        cursor = await self._connection.execute(sql, values or {})
        return list(await cursor.fetchall()) if cursor.description else []

    def run(self, requests: Sequence[Request]) -> list[Added]:
        added = []
        for request in requests:
            holder = request.new.run.id
            for name, sql, values in request.statements:
                found = self.rows(sql, values)
                if name == "key_holder":
                    holder = str(found[0][0])
            added.append(_answer(request.new, holder))
        return added

    async def arun(self, requests: Sequence[Request]) -> list[Added]:
        added = []
        for request in requests:
            holder = request.new.run.id
            for name, sql, values in request.statements:
                found = await self.arows(sql, values)
                if name == "key_holder":
                    holder = str(found[0][0])
            added.append(_answer(request.new, holder))
        return added


def _answer(new: NewRun, holder: str) -> Added:
    added = Added(holder, holder == new.run.id)
    reject_duplicate(new, added)
    return added


def unwrap(connection: Any) -> Any:
    """The driver's connection inside a SQLAlchemy Session or Connection; anything else as it is."""
    if type(connection).__module__.startswith("sqlalchemy."):
        if hasattr(connection, "get_bind"):  # a Session: joins its transaction
            connection = connection.connection()
        return connection.connection.driver_connection
    return connection


async def unwrap_async(connection: Any) -> Any:
    """The same for AsyncSession and AsyncConnection."""
    if type(connection).__module__.startswith("sqlalchemy."):
        if hasattr(connection, "get_bind"):
            connection = await connection.connection()
        return (await connection.get_raw_connection()).driver_connection
    return connection


def sqlite(connection: Any, path: Path) -> Caller:
    raw = unwrap(connection)
    if not isinstance(raw, sqlite3.Connection):
        raise _not_usable(connection, "a sqlite3 or SQLAlchemy connection to the store's file")
    caller = Caller(raw)
    _check_file(caller.rows("PRAGMA database_list"), path)
    if not raw.in_transaction:
        # sqlite3 begins by itself before an INSERT, but only in its older mode; without this, an autocommit
        # connection would commit each statement on its own.
        _refuse_autocommit(raw)
    raw.execute("PRAGMA wal_autocheckpoint = 0")
    return caller


async def async_sqlite(connection: Any, path: Path) -> Caller:
    raw = await unwrap_async(connection)
    if not type(raw).__module__.startswith("aiosqlite"):
        raise _not_usable(connection, "an aiosqlite or async SQLAlchemy connection to the store's file")
    caller = Caller(raw)
    _check_file(await caller.arows("PRAGMA database_list"), path)
    await caller.arows("PRAGMA wal_autocheckpoint = 0")
    return caller


def _refuse_autocommit(raw: sqlite3.Connection) -> None:
    if raw.isolation_level is None:
        raise WrongConnection("connection=: this sqlite3 connection is in no transaction; execute BEGIN first.")


def _check_file(listed: Sequence[Any], path: Path) -> None:
    names = [row[2] for row in listed if row[1] == "main"]
    if not names or not names[0] or not os.path.samefile(names[0], path):
        where = names[0] if names and names[0] else "memory"
        raise WrongConnection(
            f"connection=: it is open on {where}, and the store is {path}; hand in a connection to the store's file."
        )


# Connections that were found to be on the store's database, so that each is asked only once.
_known: WeakKeyDictionary[Any, str] = WeakKeyDictionary()

_HAS_STORE = "SELECT to_regclass('workbell_meta')"
_STORE_ID = "SELECT value FROM workbell_meta WHERE name = 'store_id'"


def postgres(connection: Any, store_id: str) -> Caller:
    raw = unwrap(connection)
    if not _is_psycopg(raw, "Connection"):
        raise _not_usable(connection, "a psycopg or SQLAlchemy connection to the store's database")
    caller = Caller(raw)
    if _known.get(raw) != store_id:
        # Asked first, because a failing query would spoil the caller's transaction.
        there = caller.rows(_HAS_STORE)[0][0] is not None
        _check_store(caller.rows(_STORE_ID)[0][0] if there else None, store_id)
        _known[raw] = store_id
    return caller


async def async_postgres(connection: Any, store_id: str) -> Caller:
    raw = await unwrap_async(connection)
    if not _is_psycopg(raw, "AsyncConnection"):
        raise _not_usable(connection, "a psycopg AsyncConnection or async SQLAlchemy connection")
    caller = Caller(raw)
    if _known.get(raw) != store_id:
        there = (await caller.arows(_HAS_STORE))[0][0] is not None
        _check_store((await caller.arows(_STORE_ID))[0][0] if there else None, store_id)
        _known[raw] = store_id
    return caller


def _is_psycopg(raw: Any, kind: str) -> bool:
    return any(base.__module__.startswith("psycopg") and base.__name__ == kind for base in type(raw).__mro__)


def _check_store(found: str | None, store_id: str) -> None:
    if found != store_id:
        raise WrongConnection(
            "connection=: it is open on another database than the store's; connect to the same database, with the "
            "same search_path."
        )


def _not_usable(connection: Any, wanted: str) -> WrongConnection:
    kind = type(connection)
    return WrongConnection(f"connection=: {kind.__module__}.{kind.__qualname__} cannot be used here; hand in {wanted}.")
