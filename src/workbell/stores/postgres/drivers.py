"""Drivers of callers' PostgreSQL connections: how each executes a statement and says how its transaction stands.

psycopg 3 and psycopg2 bind the same `%(word)s`; asyncpg has numbers. None of them need be installed but psycopg 3.
"""

from __future__ import annotations

from typing import Any

from workbell.errors import WrongConnection
from workbell.stores.callers import AsyncCaller, AsyncRows, Rows, Values, through_async_sqlalchemy
from workbell.stores.is_a import is_a
from workbell.stores.postgres.dialect import POSTGRES
from workbell.stores.postgres.numbered import bind_numbered

IDLE, IN_ERROR = 0, 3  # of libpq's transaction status, which psycopg 3 and psycopg2 pass on
IN_FAILED_TRANSACTION = "25P02"

FAILED = "connection=: its transaction has failed; roll it back, then repeat the call."
CLOSED = "connection=: it is closed; hand in an open one."
IN_PIPELINE = (
    "connection=: it is in a pipeline, where a statement has no answer yet; make the call outside of "
    "`with connection.pipeline():`."
)


# psycopg 3 and psycopg2


def is_psycopg(raw: Any) -> bool:
    return is_a(raw, "psycopg", "Connection")


def is_psycopg2(raw: Any) -> bool:
    return is_a(raw, "psycopg2", "connection")


def psycopg_rows(raw: Any) -> Rows:
    def rows(sql: str, values: Values) -> list[Any]:
        from psycopg import Cursor
        from psycopg.rows import tuple_row

        # Not raw.cursor(): the caller's own kinds of cursor and row may be anything.
        cursor = Cursor(raw, row_factory=tuple_row).execute(sql, values)
        return cursor.fetchall() if cursor.description else []

    return rows


def psycopg2_rows(raw: Any) -> Rows:
    """How psycopg2 executes a statement. In autocommit, its `with connection:` begins with the first one."""

    def rows(sql: str, values: Values) -> list[Any]:
        from psycopg2.extensions import cursor  # type: ignore[import-untyped]

        with raw.cursor(cursor_factory=cursor) as opened:
            opened.execute(sql, values)
            return list(opened.fetchall()) if opened.description else []

    if not raw.closed and raw.autocommit and raw.info.transaction_status == IDLE:
        rows("SELECT 1", {})
    return rows


def async_psycopg_caller(raw: Any, outer: Any) -> AsyncCaller:
    """A caller on an AsyncConnection; `outer` is the SQLAlchemy connection over it, if there is one."""
    check_libpq(raw)

    async def rows(sql: str, values: Values) -> list[Any]:
        from psycopg import AsyncCursor
        from psycopg.rows import tuple_row

        cursor = await AsyncCursor(raw, row_factory=tuple_row).execute(sql, values)
        return await cursor.fetchall() if cursor.description else []

    return AsyncCaller(rows if outer is None else through_async_sqlalchemy(outer), POSTGRES.bind)


def check_libpq(raw: Any) -> None:
    """Refuse a connection of psycopg 3 or psycopg2 that is in no transaction and begins none, in a failed one, or in a
    pipeline."""
    if raw.closed:
        raise WrongConnection(CLOSED)
    if not is_psycopg2(raw) and raw.pgconn.pipeline_status:
        raise WrongConnection(IN_PIPELINE)
    if raw.info.transaction_status == IN_ERROR:
        raise WrongConnection(FAILED)
    if raw.info.transaction_status == IDLE and raw.autocommit:
        block = "with connection:" if is_psycopg2(raw) else "with connection.transaction():"
        raise WrongConnection(f"connection=: it is in autocommit and in no transaction; open one with `{block}`.")


# asyncpg


def is_asyncpg(raw: Any) -> bool:
    """Whether it is a connection of asyncpg, by itself or of a pool."""
    return is_a(raw, "asyncpg", "Connection") or is_a(raw, "asyncpg", "PoolConnectionProxy")


async def asyncpg_caller(raw: Any, outer: Any) -> AsyncCaller:
    """A caller on an asyncpg connection; `outer` is the SQLAlchemy connection over it, if there is one.

    By itself asyncpg is in autocommit until `connection.transaction()`. SQLAlchemy begins with the first statement.
    """
    if raw.is_closed():
        raise WrongConnection(CLOSED)

    async def rows(sql: str, values: Values) -> list[Any]:
        # `fetch` and not `prepare`: with statement_cache_size=0, for poolers, it leaves no statement on the server.
        return list(await raw.fetch(sql, *values))

    caller = AsyncCaller(_naming_failure(rows if outer is None else through_async_sqlalchemy(outer)), bind_numbered)
    if outer is not None and not raw.is_in_transaction():
        await caller.rows("SELECT 1", ())
    if not raw.is_in_transaction():
        raise WrongConnection(
            "connection=: it is in no transaction; open one with `async with connection.transaction():`."
            if outer is None
            else "connection=: it is in autocommit and in no transaction; hand in one of another isolation level."
        )
    return caller


def _naming_failure(rows: AsyncRows) -> AsyncRows:
    """asyncpg does not say beforehand that the transaction has failed: the error of the first statement does."""

    async def named(sql: str, values: Values) -> list[Any]:
        try:
            return await rows(sql, values)
        except Exception as error:
            if getattr(getattr(error, "orig", error), "sqlstate", None) == IN_FAILED_TRANSACTION:
                raise WrongConnection(FAILED) from error
            raise

    return named


def identity_of(raw: Any) -> Any:
    """The connection behind one of asyncpg's pool, which has another proxy for it each time it is taken."""
    return getattr(raw, "_con", None) or raw if is_asyncpg(raw) else raw
