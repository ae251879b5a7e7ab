"""Connections that belong to the caller: `connection=` for sqlite3, aiosqlite, psycopg and SQLAlchemy.

The statements of an enqueue run on the caller's connection, inside its transaction; we neither commit nor roll back.
Before the first of them we make sure that the connection is open on the store's database, and that there is a
transaction or will be one: in autocommit every statement would stand alone, and a rollback would take nothing back.

Errors of the database itself are passed on as they are: they concern the caller's transaction, and whoever repeats
transactions after, say, a serialisation failure must be able to recognise it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from workbell.errors import DuplicateRun, WrongConnection
from workbell.model.run import Added, NewRun, OnDuplicate
from workbell.stores.statements import reject_duplicate

Spelled = tuple[str, str, dict[str, Any]]
Rows = Callable[[str, dict[str, Any]], list[Any]]
AsyncRows = Callable[[str, dict[str, Any]], Awaitable[list[Any]]]

_SAVE, _BACK = "SAVEPOINT workbell", "ROLLBACK TO SAVEPOINT workbell"


class Request(NamedTuple):
    """One new run with its statements: name, SQL, values."""

    new: NewRun
    statements: Sequence[Spelled]

    @property
    def may_turn_back(self) -> bool:
        """Whether runs may be replaced before a duplicate is found and refused: then nothing must remain of it."""
        return self.new.replace_tag and self.new.on_duplicate is OnDuplicate.REJECT


class Caller:
    """A synchronous connection, reduced to running statements."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def run(self, requests: Sequence[Request]) -> list[Added]:
        return [self._run(request) for request in requests]

    def _run(self, request: Request) -> Added:
        holder = request.new.run.id
        for name, sql, values in request.statements:
            if request.may_turn_back and name == "cancel_pending":
                self.rows(_SAVE, {})
            found = self.rows(sql, values)
            if name == "key_holder":
                holder = _text(found[0][0])
        try:
            return _answer(request.new, holder)
        except DuplicateRun:
            if request.may_turn_back:
                self.rows(_BACK, {})
            raise


class AsyncCaller:
    """The same for a connection that has to be awaited."""

    def __init__(self, rows: AsyncRows) -> None:
        self.rows = rows

    async def run(self, requests: Sequence[Request]) -> list[Added]:
        return [await self._run(request) for request in requests]

    async def _run(self, request: Request) -> Added:
        holder = request.new.run.id
        for name, sql, values in request.statements:
            if request.may_turn_back and name == "cancel_pending":
                await self.rows(_SAVE, {})
            found = await self.rows(sql, values)
            if name == "key_holder":
                holder = _text(found[0][0])
        try:
            return _answer(request.new, holder)
        except DuplicateRun:
            if request.may_turn_back:
                await self.rows(_BACK, {})
            raise


def _answer(new: NewRun, holder: str) -> Added:
    added = Added(holder, holder == new.run.id)
    reject_duplicate(new, added)
    return added


# SQLite


def sqlite(connection: Any, path: Path) -> Caller:
    _refuse_async(connection)
    outer = _sqlalchemy(connection)
    raw = connection if outer is None else outer.connection.driver_connection
    if not isinstance(raw, sqlite3.Connection):
        raise _not_usable(connection, raw, "a sqlite3 connection, or a SQLAlchemy one, to the store's file")

    def rows(sql: str, values: dict[str, Any]) -> list[Any]:
        cursor = raw.cursor()
        cursor.row_factory = None  # the caller's own may make anything of a row
        return cursor.execute(sql, values).fetchall()

    caller = Caller(rows if outer is None else _through_sqlalchemy(outer))
    _check_file(caller.rows("PRAGMA database_list", {}), path)
    _check_begun(raw, getattr(raw, "autocommit", None))
    caller.rows("PRAGMA wal_autocheckpoint = 0", {})  # see sqlite/file.py: no commit may overlap a checkpoint
    return caller


async def async_sqlite(connection: Any, path: Path) -> AsyncCaller:
    _refuse_sync(connection)
    outer = await _async_sqlalchemy(connection)
    raw = connection if outer is None else (await outer.get_raw_connection()).driver_connection
    if not _is_a(raw, "aiosqlite", "Connection"):
        raise _not_usable(connection, raw, "an aiosqlite connection, or an async SQLAlchemy one, to the store's file")

    async def rows(sql: str, values: dict[str, Any]) -> list[Any]:
        async with raw.cursor() as cursor:
            cursor.row_factory = None
            await cursor.execute(sql, values)
            return list(await cursor.fetchall())

    caller = AsyncCaller(rows if outer is None else _through_async_sqlalchemy(outer))
    _check_file(await caller.rows("PRAGMA database_list", {}), path)
    _check_begun(raw, getattr(getattr(raw, "_conn", None), "autocommit", None))
    await caller.rows("PRAGMA wal_autocheckpoint = 0", {})
    return caller


def _check_begun(raw: Any, autocommit: Any) -> None:
    """sqlite3 begins by itself before an INSERT, unless it was told not to.

    That is said by `isolation_level`, or by `autocommit` where Python has it (from 3.12 on).
    """
    begins_itself = autocommit is False or (autocommit is not True and raw.isolation_level is not None)
    if not raw.in_transaction and not begins_itself:
        raise WrongConnection("connection=: this SQLite connection is in no transaction; execute BEGIN first.")


def _check_file(listed: Sequence[Any], path: Path) -> None:
    names = [_text(row[2]) for row in listed if _text(row[1]) == "main"]
    where = names[0] if names and names[0] else ""
    if not where or not os.path.exists(where) or not os.path.samefile(where, path):  # noqa: PTH110, PTH121
        raise WrongConnection(
            f"connection=: it is open on {where or 'memory'}, and the store is {path}; hand in a connection to the "
            "store's file."
        )


# PostgreSQL

# Connections that were found to be on the store's database, so that each is asked only once.
_known: WeakKeyDictionary[Any, str] = WeakKeyDictionary()

_HAS_STORE = "SELECT to_regclass('workbell_meta')"  # asked first: a failing query would spoil the transaction
_STORE_ID = "SELECT value FROM workbell_meta WHERE name = 'store_id'"


def postgres(connection: Any, store_id: str) -> Caller:
    _refuse_async(connection)
    outer = _sqlalchemy(connection)
    raw = connection if outer is None else outer.connection.driver_connection
    if not _is_a(raw, "psycopg", "Connection"):
        raise _not_usable(connection, raw, "a psycopg connection, or a SQLAlchemy one, to the store's database")
    _check_transaction(raw)

    def rows(sql: str, values: dict[str, Any]) -> list[Any]:
        from psycopg import Cursor
        from psycopg.rows import tuple_row

        # Not raw.cursor(): the caller's own kinds of cursor and row may be anything.
        cursor = Cursor(raw, row_factory=tuple_row).execute(sql, values)
        return cursor.fetchall() if cursor.description else []

    caller = Caller(rows if outer is None else _through_sqlalchemy(outer))
    if _known.get(raw) != store_id:
        there = caller.rows(_HAS_STORE, {})[0][0] is not None
        _check_store(caller.rows(_STORE_ID, {})[0][0] if there else None, store_id)
        _known[raw] = store_id
    return caller


async def async_postgres(connection: Any, store_id: str) -> AsyncCaller:
    _refuse_sync(connection)
    outer = await _async_sqlalchemy(connection)
    raw = connection if outer is None else (await outer.get_raw_connection()).driver_connection
    if not _is_a(raw, "psycopg", "AsyncConnection"):
        raise _not_usable(connection, raw, "a psycopg AsyncConnection, or an async SQLAlchemy one")
    _check_transaction(raw)

    async def rows(sql: str, values: dict[str, Any]) -> list[Any]:
        from psycopg import AsyncCursor
        from psycopg.rows import tuple_row

        cursor = await AsyncCursor(raw, row_factory=tuple_row).execute(sql, values)
        return await cursor.fetchall() if cursor.description else []

    caller = AsyncCaller(rows if outer is None else _through_async_sqlalchemy(outer))
    if _known.get(raw) != store_id:
        there = (await caller.rows(_HAS_STORE, {}))[0][0] is not None
        _check_store((await caller.rows(_STORE_ID, {}))[0][0] if there else None, store_id)
        _known[raw] = store_id
    return caller


def _check_transaction(raw: Any) -> None:
    if raw.closed:
        raise WrongConnection("connection=: it is closed; hand in an open one.")
    status = raw.info.transaction_status.name
    if status == "INERROR":
        raise WrongConnection("connection=: its transaction has failed; roll it back, then enqueue again.")
    if status == "IDLE" and raw.autocommit:
        raise WrongConnection(
            "connection=: it is in autocommit and in no transaction; open one with `with connection.transaction():`."
        )


def _check_store(found: Any, store_id: str) -> None:
    if found != store_id:
        raise WrongConnection(
            "connection=: it is open on another database than the store's; connect to the same database, with the "
            "same search_path."
        )


# SQLAlchemy: through its own `exec_driver_sql`, so that its transaction begins, and its events and logs see it


def _sqlalchemy(connection: Any) -> Any:
    """The Connection of a SQLAlchemy Session or Connection; None for anything else."""
    if not _is_a(connection, "sqlalchemy") or _is_a(connection, "sqlalchemy.ext.asyncio"):
        return None
    if hasattr(connection, "get_bind"):  # a Session, also a scoped one: its connection joins its transaction
        connection = connection.connection()
    return connection if hasattr(connection, "exec_driver_sql") else None


async def _async_sqlalchemy(connection: Any) -> Any:
    """The same for AsyncSession and AsyncConnection."""
    if not _is_a(connection, "sqlalchemy.ext.asyncio"):
        return None
    if hasattr(connection, "get_bind"):
        connection = await connection.connection()
    return connection if hasattr(connection, "exec_driver_sql") else None


def _through_sqlalchemy(outer: Any) -> Rows:
    def rows(sql: str, values: dict[str, Any]) -> list[Any]:
        result = outer.exec_driver_sql(sql, values or None)
        return list(result.fetchall()) if result.returns_rows else []

    return rows


def _through_async_sqlalchemy(outer: Any) -> AsyncRows:
    async def rows(sql: str, values: dict[str, Any]) -> list[Any]:
        result = await outer.exec_driver_sql(sql, values or None)
        return list(result.fetchall()) if result.returns_rows else []

    return rows


def _is_a(value: Any, package: str, name: str | None = None) -> bool:
    """Whether a value's class comes from a package that need not be installed; also a subclass made elsewhere."""
    return any(
        f"{base.__module__}.".startswith(f"{package}.") and (name is None or base.__name__ == name)
        for base in type(value).__mro__
    )


_SYNC = (("sqlite3", "Connection"), ("psycopg", "Connection"), ("sqlalchemy", None))
_ASYNC = (("aiosqlite", None), ("psycopg", "AsyncConnection"), ("sqlalchemy.ext.asyncio", None))


def _refuse_async(connection: Any) -> None:
    if any(_is_a(connection, *kind) for kind in _ASYNC):
        raise WrongConnection(f"connection=: {_name(connection)} is asynchronous; use aenqueue() with it.")


def _refuse_sync(connection: Any) -> None:
    if any(_is_a(connection, *kind) for kind in _SYNC) and not _is_a(connection, *_ASYNC[-1]):
        raise WrongConnection(f"connection=: {_name(connection)} is synchronous; use enqueue() with it.")


def _not_usable(connection: Any, raw: Any, wanted: str) -> WrongConnection:
    over = "" if raw is connection else f" over {type(raw).__module__.partition('.')[0]}"
    return WrongConnection(f"connection=: {_name(connection)}{over} cannot be used here; hand in {wanted}.")


def _name(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
