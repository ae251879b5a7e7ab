"""Connections that belong to the caller: `connection=` for the drivers of the store, SQLAlchemy and Django over them.

The statements of an enqueue run on the caller's connection, inside its transaction; we neither commit nor roll back.
Before the first of them we make sure that the connection is open on the store's database, and that there is a
transaction or will be one: in autocommit every statement would stand alone, and a rollback would take nothing back.

Errors of the database itself are passed on as they are: they concern the caller's transaction, and code that repeats
transactions after, say, a serialisation failure must be able to recognise it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar
from uuid import UUID

from workbell.errors import WrongConnection
from workbell.stores.database import Batch, Conflict, Row, Statement, check_count
from workbell.stores.django_callers import ASYNC, check_django, is_django, through_django
from workbell.stores.flows import Answers, Flow, drive
from workbell.stores.is_a import is_a

T = TypeVar("T")

Values = Mapping[str, Any] | Sequence[Any]  # parameters by name, or in the order of their numbers
Rows = Callable[[str, Values], list[Any]]
AsyncRows = Callable[[str, Values], Awaitable[list[Any]]]
Bind = Callable[[Statement], Sequence[Any]]  # the SQL of a statement and its parameters

_SAVE, _BACK = "SAVEPOINT workbell", "ROLLBACK TO SAVEPOINT workbell"


class Caller:
    """A synchronous connection, reduced to running statements."""

    def __init__(self, rows: Rows, bind: Bind) -> None:
        self.rows = rows
        self._bind = bind

    def run(self, flow: Flow[T]) -> T:
        """Run a flow inside the caller's transaction."""
        return drive(flow, lambda step: self._execute(step.batch))

    def _execute(self, batch: Batch) -> Answers:
        """Execute all of a batch, or none of it and raise Conflict."""
        if not _may_turn_back(batch):
            return [self._answer(statement) for statement in batch]
        self.rows(_SAVE, {})
        try:
            return [self._answer(statement) for statement in batch]
        except Conflict:
            self.rows(_BACK, {})
            raise

    def _answer(self, statement: Statement) -> list[Row]:
        sql, values = self._bind(statement)
        return _checked(statement, self.rows(sql, values))


class AsyncCaller:
    """An asynchronous connection, reduced to running statements."""

    def __init__(self, rows: AsyncRows, bind: Bind) -> None:
        self.rows = rows
        self._bind = bind

    async def run(self, flow: Flow[T]) -> T:
        try:
            step = next(flow)
            while True:
                try:
                    answers = await self._execute(step.batch)
                except Conflict as conflict:
                    step = flow.throw(conflict)
                else:
                    step = flow.send(answers)
        except StopIteration as done:
            value: T = done.value
            return value

    async def _execute(self, batch: Batch) -> Answers:
        if not _may_turn_back(batch):
            return [await self._answer(statement) for statement in batch]
        await self.rows(_SAVE, {})
        try:
            return [await self._answer(statement) for statement in batch]
        except Conflict:
            await self.rows(_BACK, {})
            raise

    async def _answer(self, statement: Statement) -> list[Row]:
        sql, values = self._bind(statement)
        return _checked(statement, await self.rows(sql, values))


def _may_turn_back(batch: Batch) -> bool:
    """Whether a guard may refuse after a statement that writes: then a savepoint must take that back."""
    return len(batch) > 1 and any(statement.exactly is not None for statement in batch)


def _checked(statement: Statement, found: Sequence[Any]) -> list[Row]:
    rows: list[Row] = [_plain(row) for row in found]
    check_count(statement, rows)
    return rows


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
    def rows(sql: str, values: Values) -> list[Any]:
        result = outer.exec_driver_sql(sql, values or None)
        return list(result.fetchall()) if result.returns_rows else []

    return rows


def through_async_sqlalchemy(outer: Any) -> AsyncRows:
    async def rows(sql: str, values: Values) -> list[Any]:
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


_SYNC = (("sqlite3", "Connection"), ("psycopg", "Connection"), ("psycopg2", "connection"), ("sqlalchemy", None))
_ASYNC = (("aiosqlite", None), ("psycopg", "AsyncConnection"), ("asyncpg", None), ("sqlalchemy.ext.asyncio", None))


def refuse_async(connection: Any) -> None:
    _refuse_pool(connection)
    if any(is_a(connection, *kind) for kind in _ASYNC):
        raise WrongConnection(f"connection=: {_name(connection)} is asynchronous; use aenqueue() or aemit() with it.")


def refuse_sync(connection: Any) -> None:
    _refuse_pool(connection)
    if is_django(connection):
        raise WrongConnection(ASYNC)
    if any(is_a(connection, *kind) for kind in _SYNC) and not is_a(connection, *_ASYNC[-1]):
        raise WrongConnection(f"connection=: {_name(connection)} is synchronous; use enqueue() or emit() with it.")


def _refuse_pool(connection: Any) -> None:
    """asyncpg's pool has the methods of a connection, and takes another connection for each call."""
    if is_a(connection, "asyncpg.pool", "Pool"):
        raise WrongConnection(
            "connection=: asyncpg.pool.Pool is a pool, and each of its calls is a transaction by itself; hand in a "
            "connection of it: `async with pool.acquire() as connection, connection.transaction():`."
        )


def not_usable(connection: Any, raw: Any, wanted: str) -> WrongConnection:
    over = "" if raw is connection else f" over {type(raw).__module__.partition('.')[0]}"
    return WrongConnection(f"connection=: {_name(connection)}{over} cannot be used here; hand in {wanted}.")


def _name(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def text_of(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
