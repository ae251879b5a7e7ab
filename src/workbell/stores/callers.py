"""Connections that belong to the caller: `connection=` for sqlite3, aiosqlite, psycopg, SQLAlchemy and Django.

The statements of an enqueue run on the caller's connection, inside its transaction; we neither commit nor roll back.
Before the first of them we make sure that the connection is open on the store's database, and that there is a
transaction or will be one: in autocommit every statement would stand alone, and a rollback would take nothing back.

Errors of the database itself are passed on as they are: they concern the caller's transaction, and whoever repeats
transactions after, say, a serialisation failure must be able to recognise it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from workbell.errors import DuplicateRun, WrongConnection
from workbell.model.event import Event
from workbell.model.run import Added, NewRun, OnDuplicate
from workbell.stores.database import Statement
from workbell.stores.django_callers import ASYNC, check_django, is_django, through_django
from workbell.stores.is_a import is_a
from workbell.stores.statements import Making

Spelled = tuple[str, str, dict[str, Any]]
Rows = Callable[[str, dict[str, Any]], list[Any]]
AsyncRows = Callable[[str, dict[str, Any]], Awaitable[list[Any]]]

TWICE = (1, 2)  # should the event that has the key be removed between one statement and the next

_SAVE, _BACK = "SAVEPOINT workbell", "ROLLBACK TO SAVEPOINT workbell"


class Request(NamedTuple):
    """One new run with the statements that make it, and how the engine writes a statement."""

    new: NewRun
    making: Making
    spell: Callable[[Statement], Spelled | None]  # none: the engine needs no such statement
    lane: Spelled | None = None  # makes the lane, where that is part of the caller's transaction


def may_turn_back(requests: Sequence[Request]) -> bool:
    """Whether a duplicate may be refused when something is written already: then nothing must remain of that."""
    refusing = any(request.new.on_duplicate is OnDuplicate.REJECT for request in requests)
    return refusing and (len(requests) > 1 or any(request.new.replace_tag for request in requests))


class Caller:
    """A synchronous connection, reduced to running statements."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def run(self, requests: Sequence[Request]) -> list[Added]:
        """All of them, or none and the error."""
        if not may_turn_back(requests):
            return [self._run(request) for request in requests]
        # Where a library begins the transaction at the first write, a savepoint would not; a lane does. It may remain.
        if requests[0].lane is not None:
            self.rows(*requests[0].lane[1:])
        self.rows(_SAVE, {})
        try:
            return [self._run(request) for request in requests]
        except DuplicateRun:
            self.rows(_BACK, {})
            raise

    def emit(self, event: Event, statements: Sequence[Spelled]) -> Added:
        for _ in TWICE:
            found = [self.rows(sql, values) for _, sql, values in statements][-1]
            if event.key is not None and found:
                holder = text_of(found[0][0])
                return Added(holder, holder == event.id)
            if event.key is None:
                break
        return Added(event.id, True)

    def _run(self, request: Request) -> Added:
        if request.lane is not None:
            self.rows(*request.lane[1:])
        try:
            statement = next(request.making)
            while True:
                spelled = request.spell(statement)
                found = [] if spelled is None else self.rows(*spelled[1:])
                statement = request.making.send([_plain(row) for row in found])
        except StopIteration as made:
            added: Added = made.value
            return added


class AsyncCaller:
    """The same for a connection that has to be awaited."""

    def __init__(self, rows: AsyncRows) -> None:
        self.rows = rows

    async def run(self, requests: Sequence[Request]) -> list[Added]:
        if not may_turn_back(requests):
            return [await self._run(request) for request in requests]
        # Where a library begins the transaction at the first write, a savepoint would not; a lane does. It may remain.
        if requests[0].lane is not None:
            await self.rows(*requests[0].lane[1:])
        await self.rows(_SAVE, {})
        try:
            return [await self._run(request) for request in requests]
        except DuplicateRun:
            await self.rows(_BACK, {})
            raise

    async def emit(self, event: Event, statements: Sequence[Spelled]) -> Added:
        for _ in TWICE:
            found = [await self.rows(sql, values) for _, sql, values in statements][-1]
            if event.key is not None and found:
                holder = text_of(found[0][0])
                return Added(holder, holder == event.id)
            if event.key is None:
                break
        return Added(event.id, True)

    async def _run(self, request: Request) -> Added:
        if request.lane is not None:
            await self.rows(*request.lane[1:])
        try:
            statement = next(request.making)
            while True:
                spelled = request.spell(statement)
                found = [] if spelled is None else await self.rows(*spelled[1:])
                statement = request.making.send([_plain(row) for row in found])
        except StopIteration as made:
            added: Added = made.value
            return added


def _plain(row: Sequence[Any]) -> list[Any]:
    """A row with ids and texts as our own connections read them, whatever the caller's makes of them."""
    return [text_of(value) if isinstance(value, bytes | UUID) else value for value in row]


def unwrap(connection: Any) -> tuple[Any, Rows | None]:
    """The driver's connection behind a library's, and how statements go through that library; none: directly."""
    outer = sqlalchemy_connection(connection)
    if outer is not None:
        return outer.connection.driver_connection, through_sqlalchemy(outer)
    if is_django(connection):
        check_django(connection)
        return connection.connection, through_django(connection)
    return connection, None


# SQLAlchemy: through its own `exec_driver_sql`, so that its transaction begins, and its events and logs see it


def sqlalchemy_connection(connection: Any) -> Any:
    """The Connection of a SQLAlchemy Session or Connection; None for anything else."""
    if not is_a(connection, "sqlalchemy") or is_a(connection, "sqlalchemy.ext.asyncio"):
        return None
    if hasattr(connection, "get_bind"):  # a Session, also a scoped one: its connection joins its transaction
        connection = connection.connection()
    return connection if hasattr(connection, "exec_driver_sql") else None


async def async_sqlalchemy_connection(connection: Any) -> Any:
    """The same for AsyncSession and AsyncConnection."""
    if not is_a(connection, "sqlalchemy.ext.asyncio"):
        return None
    if hasattr(connection, "get_bind"):
        connection = await connection.connection()
    return connection if hasattr(connection, "exec_driver_sql") else None


def through_sqlalchemy(outer: Any) -> Rows:
    def rows(sql: str, values: dict[str, Any]) -> list[Any]:
        result = outer.exec_driver_sql(sql, values or None)
        return list(result.fetchall()) if result.returns_rows else []

    return rows


def through_async_sqlalchemy(outer: Any) -> AsyncRows:
    async def rows(sql: str, values: dict[str, Any]) -> list[Any]:
        result = await outer.exec_driver_sql(sql, values or None)
        return list(result.fetchall()) if result.returns_rows else []

    return rows


NO_CHECKPOINT = "PRAGMA wal_autocheckpoint = 0"


def prepare_sqlite(connection: Any) -> None:
    """Make a SQLite connection of yours safe for the store's file: it makes no checkpoints of its own.

    For every connection of a pool that writes to that file: before SQLite 3.51.3 a checkpoint of one connection that
    overlaps a commit of another can lose the commit. Takes a sqlite3 connection, or what SQLAlchemy hands to a
    listener of `connect`.
    """
    if is_a(connection, "aiosqlite", "Connection") or not hasattr(connection, "cursor"):
        raise WrongConnection(
            f"prepare_sqlite: {_name(connection)} cannot be used here; hand in a sqlite3 connection, or what "
            f"SQLAlchemy gives to a listener of `connect`. With aiosqlite: await connection.execute({NO_CHECKPOINT!r})."
        )
    cursor = connection.cursor()
    try:
        cursor.execute(NO_CHECKPOINT)
    finally:
        cursor.close()


_SYNC = (("sqlite3", "Connection"), ("psycopg", "Connection"), ("sqlalchemy", None))
_ASYNC = (("aiosqlite", None), ("psycopg", "AsyncConnection"), ("sqlalchemy.ext.asyncio", None))


def refuse_async(connection: Any) -> None:
    if any(is_a(connection, *kind) for kind in _ASYNC):
        raise WrongConnection(f"connection=: {_name(connection)} is asynchronous; use aenqueue() or aemit() with it.")


def refuse_sync(connection: Any) -> None:
    if is_django(connection):
        raise WrongConnection(ASYNC)
    if any(is_a(connection, *kind) for kind in _SYNC) and not is_a(connection, *_ASYNC[-1]):
        raise WrongConnection(f"connection=: {_name(connection)} is synchronous; use enqueue() or emit() with it.")


def not_usable(connection: Any, raw: Any, wanted: str) -> WrongConnection:
    over = "" if raw is connection else f" over {type(raw).__module__.partition('.')[0]}"
    return WrongConnection(f"connection=: {_name(connection)}{over} cannot be used here; hand in {wanted}.")


def _name(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def text_of(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
