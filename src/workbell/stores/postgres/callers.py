"""Callers' own PostgreSQL connections: psycopg, and SQLAlchemy and Django over it; sync and async."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from workbell.errors import WrongConnection
from workbell.stores.callers import (
    AsyncCaller,
    Caller,
    async_sqlalchemy_connection,
    not_usable,
    refuse_async,
    refuse_sync,
    through_async_sqlalchemy,
    unwrap,
)
from workbell.stores.is_a import is_a
from workbell.stores.postgres.dialect import POSTGRES

# Connections that were found to be on the store's database, so that each is asked only once.
_known: WeakKeyDictionary[Any, str] = WeakKeyDictionary()

_HAS_STORE = "SELECT to_regclass('workbell_meta')"  # asked first: a failing query would spoil the transaction
_STORE_ID = "SELECT value FROM workbell_meta WHERE name = 'store_id'"


def open_caller(connection: Any, store_id: str) -> Caller:
    refuse_async(connection)
    raw, through = unwrap(connection)
    if not is_a(raw, "psycopg", "Connection"):
        wanted = "a psycopg (3) connection, or one of SQLAlchemy or Django over it, to the store's database"
        raise not_usable(connection, raw, wanted)
    _check_transaction(raw)

    def rows(sql: str, values: dict[str, Any]) -> list[Any]:
        from psycopg import Cursor
        from psycopg.rows import tuple_row

        # Not raw.cursor(): the caller's own kinds of cursor and row may be anything.
        cursor = Cursor(raw, row_factory=tuple_row).execute(sql, values)
        return cursor.fetchall() if cursor.description else []

    caller = Caller(through or rows, POSTGRES.bind)
    if _known.get(raw) != store_id:
        there = caller.rows(_HAS_STORE, {})[0][0] is not None
        _check_store(caller.rows(_STORE_ID, {}) if there else None, store_id)
        _known[raw] = store_id
    return caller


async def open_async_caller(connection: Any, store_id: str) -> AsyncCaller:
    refuse_sync(connection)
    outer = await async_sqlalchemy_connection(connection)
    raw = connection if outer is None else (await outer.get_raw_connection()).driver_connection
    if not is_a(raw, "psycopg", "AsyncConnection"):
        raise not_usable(connection, raw, "a psycopg AsyncConnection, or an async SQLAlchemy one")
    _check_transaction(raw)

    async def rows(sql: str, values: dict[str, Any]) -> list[Any]:
        from psycopg import AsyncCursor
        from psycopg.rows import tuple_row

        cursor = await AsyncCursor(raw, row_factory=tuple_row).execute(sql, values)
        return await cursor.fetchall() if cursor.description else []

    caller = AsyncCaller(rows if outer is None else through_async_sqlalchemy(outer), POSTGRES.bind)
    if _known.get(raw) != store_id:
        there = (await caller.rows(_HAS_STORE, {}))[0][0] is not None
        _check_store(await caller.rows(_STORE_ID, {}) if there else None, store_id)
        _known[raw] = store_id
    return caller


def _check_transaction(raw: Any) -> None:
    if raw.closed:
        raise WrongConnection("connection=: it is closed; hand in an open one.")
    status = raw.info.transaction_status.name
    if status == "INERROR":
        raise WrongConnection("connection=: its transaction has failed; roll it back, then repeat the call.")
    if status == "IDLE" and raw.autocommit:
        raise WrongConnection(
            "connection=: it is in autocommit and in no transaction; open one with `with connection.transaction():`."
        )


def _check_store(found: list[Any] | None, store_id: str) -> None:
    """`found` are the rows that hold the id; none, if the table is not there."""
    if found == []:
        raise WrongConnection(
            "connection=: its transaction began before Workbell's tables were made, and does not see them; begin it "
            "again."
        )
    if found is None or found[0][0] != store_id:
        raise WrongConnection(
            "connection=: it is open on another database than the store's; connect to the same database, with the "
            "same search_path."
        )
