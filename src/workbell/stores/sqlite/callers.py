"""Callers' own SQLite connections: sqlite3, aiosqlite, SQLAlchemy over either, and Django."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workbell.errors import WrongConnection
from workbell.stores.callers import (
    NO_CHECKPOINT,
    AsyncCaller,
    Caller,
    Values,
    async_sqlalchemy_connection,
    not_usable,
    refuse_async,
    refuse_sync,
    text_of,
    through_async_sqlalchemy,
    unwrap,
)
from workbell.stores.database import Statement
from workbell.stores.is_a import is_a
from workbell.stores.sqlite.dialect import SQLITE


def open_caller(connection: Any, path: Path) -> Caller:
    refuse_async(connection)
    raw, through = unwrap(connection)
    if not isinstance(raw, sqlite3.Connection):
        raise not_usable(connection, raw, "a sqlite3 connection, or one of SQLAlchemy or Django, to the store's file")

    def rows(sql: str, values: Values) -> list[Any]:
        cursor = raw.cursor()
        cursor.row_factory = None  # the caller's own may make anything of a row
        return cursor.execute(sql, values).fetchall()

    caller = Caller(through or rows, _bind)
    _check_file(caller.rows("PRAGMA database_list", {}), path)
    _check_begun(raw, _autocommit(raw))
    caller.rows(NO_CHECKPOINT, {})  # see sqlite/file.py: no commit may overlap a checkpoint
    return caller


async def open_async_caller(connection: Any, path: Path) -> AsyncCaller:
    refuse_sync(connection)
    outer = await async_sqlalchemy_connection(connection)
    raw = connection if outer is None else (await outer.get_raw_connection()).driver_connection
    if not is_a(raw, "aiosqlite", "Connection"):
        raise not_usable(connection, raw, "an aiosqlite connection, or an async SQLAlchemy one, to the store's file")

    async def rows(sql: str, values: Values) -> list[Any]:
        async with raw.cursor() as cursor:
            cursor.row_factory = None
            await cursor.execute(sql, values)
            return list(await cursor.fetchall())

    caller = AsyncCaller(rows if outer is None else through_async_sqlalchemy(outer), _bind)
    _check_file(await caller.rows("PRAGMA database_list", {}), path)
    # It can be read in the connection's own thread only, and aiosqlite has no other name for that.
    _check_begun(raw, await raw._execute(_autocommit, raw._conn))
    await caller.rows(NO_CHECKPOINT, {})
    return caller


def _bind(statement: Statement) -> tuple[str, dict[str, Any]]:
    bound = SQLITE.bind(statement)
    return bound.sql, bound.values


def _autocommit(connection: sqlite3.Connection) -> Any:
    return getattr(connection, "autocommit", None)  # None before Python 3.12


def _check_begun(raw: Any, autocommit: Any) -> None:
    """Whether sqlite3 begins a transaction by itself before an INSERT.

    That is said by `autocommit`, or by `isolation_level` where that has its default or is not there.
    """
    begins_itself = autocommit is False or (autocommit is not True and raw.isolation_level is not None)
    if not raw.in_transaction and not begins_itself:
        raise WrongConnection("connection=: this SQLite connection is in no transaction; execute BEGIN first.")


def _check_file(listed: Sequence[Any], path: Path) -> None:
    names = [text_of(row[2]) for row in listed if text_of(row[1]) == "main"]
    where = names[0] if names and names[0] else ""
    if not where or not os.path.exists(where) or not os.path.samefile(where, path):  # noqa: PTH110, PTH121
        raise WrongConnection(
            f"connection=: it is open on {where or 'memory'}, and the store is {path}; hand in a connection to the "
            "store's file."
        )
