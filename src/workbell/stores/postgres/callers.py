"""Callers' own PostgreSQL connections: psycopg, psycopg2 and asyncpg, and SQLAlchemy and Django over them."""

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
    unwrap,
)
from workbell.stores.is_a import is_a
from workbell.stores.postgres.dialect import POSTGRES
from workbell.stores.postgres.drivers import (
    async_psycopg_caller,
    asyncpg_caller,
    check_libpq,
    identity_of,
    is_asyncpg,
    is_psycopg,
    is_psycopg2,
    psycopg2_rows,
    psycopg_rows,
)

# Connections that were found to be on the store's database, so that each is asked only once.
_known: WeakKeyDictionary[Any, str] = WeakKeyDictionary()

_HAS_STORE = "SELECT to_regclass('workbell_meta')"  # asked first: a failing query would spoil the transaction
_STORE_ID = "SELECT value FROM workbell_meta WHERE name = 'store_id'"


def open_caller(connection: Any, store_id: str) -> Caller:
    refuse_async(connection)
    raw, through = unwrap(connection)
    if is_psycopg(raw):
        rows = psycopg_rows(raw)
    elif is_psycopg2(raw):
        rows = psycopg2_rows(raw)
    else:
        wanted = "a psycopg connection, or one of SQLAlchemy or Django over it, to the store's database"
        raise not_usable(connection, raw, wanted)
    check_libpq(raw)
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
    if is_asyncpg(raw):
        caller = await asyncpg_caller(raw, outer)
    elif is_a(raw, "psycopg", "AsyncConnection"):
        caller = async_psycopg_caller(raw, outer)
    else:
        wanted = "an asyncpg connection, a psycopg AsyncConnection, or one of SQLAlchemy over either"
        raise not_usable(connection, raw, f"{wanted}, to the store's database")
    opened = identity_of(raw)
    if _known.get(opened) != store_id:
        there = (await caller.rows(_HAS_STORE, {}))[0][0] is not None
        _check_store(await caller.rows(_STORE_ID, {}) if there else None, store_id)
        _known[opened] = store_id
    return caller


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
