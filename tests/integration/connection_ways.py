"""The ways in which a caller has a transaction of its own: each library, sync and async, and their odder settings.

Each opens a connection, runs a block in a transaction, and commits it; or rolls it back if the block raises.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import aiosqlite
import asyncpg
import psycopg
import psycopg2
import pytest
from django.db import connection, connections, transaction
from psycopg.rows import dict_row
from psycopg2.extras import RealDictCursor, register_uuid
from sqlalchemy import create_engine, event
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session, scoped_session, sessionmaker
from sqlalchemy.pool import NullPool

from tests.support.django_site import database, databases
from workbell import Workbell


def path_of(url: str) -> str:
    return url.removeprefix("sqlite:///")


def with_driver(url: str, driver: str) -> str:
    """A store's URL as SQLAlchemy writes it."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}+{driver}://{rest}"


@contextmanager
def implicit_sqlite3(url: str) -> Iterator[Any]:
    connection = sqlite3.connect(path_of(url))
    try:
        with connection:
            yield connection
    finally:
        connection.close()


@contextmanager
def explicit_sqlite3(url: str) -> Iterator[Any]:
    connection = sqlite3.connect(path_of(url), isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
        connection.execute("COMMIT")
    finally:
        connection.close()


@contextmanager
def odd_sqlite3(url: str) -> Iterator[Any]:
    """With factories of the caller's own."""
    connection = sqlite3.connect(path_of(url))
    connection.row_factory = lambda cursor, row: {"row": row}
    connection.text_factory = bytes
    try:
        with connection:
            yield connection
    finally:
        connection.close()


@contextmanager
def plain_psycopg(url: str) -> Iterator[Any]:
    with psycopg.connect(url) as connection:
        yield connection


@contextmanager
def odd_psycopg(url: str) -> Iterator[Any]:
    """With rows and cursors of the caller's own."""
    with psycopg.connect(url, row_factory=dict_row, cursor_factory=psycopg.RawCursor) as connection:
        yield connection


@contextmanager
def autocommit_psycopg(url: str) -> Iterator[Any]:
    with psycopg.connect(url, autocommit=True) as connection, connection.transaction():
        yield connection


@contextmanager
def plain_psycopg2(url: str) -> Iterator[Any]:
    connection = psycopg2.connect(url)
    try:
        with connection:
            yield connection
    finally:
        connection.close()


@contextmanager
def odd_psycopg2(url: str) -> Iterator[Any]:
    """With rows and ids of the caller's own, in a transaction of an autocommit connection."""
    connection = psycopg2.connect(url, cursor_factory=RealDictCursor)
    register_uuid(conn_or_curs=connection)
    connection.autocommit = True
    try:
        with connection:
            yield connection
    finally:
        connection.close()


def engine_for(url: str, driver: str = "psycopg") -> Any:
    return create_engine(with_driver(url, driver) if "postgres" in url else url, poolclass=NullPool)


@contextmanager
def alchemy_psycopg2_connect(url: str) -> Iterator[Any]:
    with engine_for(url, "psycopg2").connect() as connection:
        yield connection
        connection.commit()


@contextmanager
def alchemy_psycopg2_session(url: str) -> Iterator[Any]:
    with Session(engine_for(url, "psycopg2")) as session:
        yield session
        session.commit()


@contextmanager
def alchemy_begin(url: str) -> Iterator[Any]:
    with engine_for(url).begin() as connection:
        yield connection


@contextmanager
def alchemy_connect(url: str) -> Iterator[Any]:
    """Nothing but our statements runs before the commit: it has to begin by them."""
    with engine_for(url).connect() as connection:
        yield connection
        connection.commit()


@contextmanager
def alchemy_explicit_begin(url: str) -> Iterator[Any]:
    """The recipe of SQLAlchemy's manual for SQLite: its own BEGIN instead of the driver's."""
    engine = engine_for(url)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", lambda raw, _: setattr(raw, "isolation_level", None))
        event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
    with engine.connect() as connection:
        yield connection
        connection.commit()


@contextmanager
def alchemy_session(url: str) -> Iterator[Any]:
    class OwnSession(Session):
        """As other libraries make them."""

    with OwnSession(engine_for(url)) as session:
        yield session
        session.commit()


@contextmanager
def alchemy_scoped_session(url: str) -> Iterator[Any]:
    session = scoped_session(sessionmaker(engine_for(url)))
    try:
        yield session
        session.commit()
    finally:
        session.remove()


@contextmanager
def django_atomic(url: str) -> Iterator[Any]:
    """`django.db.connection` itself."""
    with databases(default=database(url)), transaction.atomic():
        yield connection


@contextmanager
def django_other(url: str) -> Iterator[Any]:
    """Another than the default one, which notes its queries (DEBUG), within a savepoint."""
    with databases(default=database("sqlite:///:memory:"), other=database(url)):
        connections["other"].force_debug_cursor = True
        with transaction.atomic(using="other"), transaction.atomic(using="other"):
            yield connections["other"]


@contextmanager
def django_without_autocommit(url: str) -> Iterator[Any]:
    with databases(default=database(url)):
        transaction.set_autocommit(False)
        yield connection
        transaction.commit()


@contextmanager
def django_server_side(url: str) -> Iterator[Any]:
    """With parameters bound by the server."""
    with databases(default=database(url, server_side_binding=True)), transaction.atomic():
        yield connection


Way = Callable[[str], Any]
ALCHEMY = [alchemy_begin, alchemy_connect, alchemy_explicit_begin, alchemy_session, alchemy_scoped_session]
ALCHEMY_PSYCOPG2 = [alchemy_psycopg2_connect, alchemy_psycopg2_session]
DJANGO = [django_atomic, django_other, django_without_autocommit]
WAYS: list[tuple[str, Way]] = [
    *(("sqlite", way) for way in (implicit_sqlite3, explicit_sqlite3, odd_sqlite3, *ALCHEMY, *DJANGO)),
    *(("postgres", way) for way in (plain_psycopg, odd_psycopg, autocommit_psycopg, *ALCHEMY, *DJANGO)),
    *(("postgres", way) for way in (plain_psycopg2, odd_psycopg2, *ALCHEMY_PSYCOPG2, django_server_side)),
]


@asynccontextmanager
async def implicit_aiosqlite(url: str) -> AsyncIterator[Any]:
    async with aiosqlite.connect(path_of(url)) as connection:
        yield connection
        await connection.commit()


@asynccontextmanager
async def explicit_aiosqlite(url: str) -> AsyncIterator[Any]:
    async with aiosqlite.connect(path_of(url), isolation_level=None) as connection:
        connection.row_factory = lambda cursor, row: {"row": row}
        await connection.execute("BEGIN")
        yield connection
        await connection.execute("COMMIT")


@asynccontextmanager
async def async_psycopg(url: str) -> AsyncIterator[Any]:
    async with await psycopg.AsyncConnection.connect(url, row_factory=dict_row) as connection:
        yield connection


@asynccontextmanager
async def autocommit_async_psycopg(url: str) -> AsyncIterator[Any]:
    opened = await psycopg.AsyncConnection.connect(url, autocommit=True)
    async with opened as connection, connection.transaction():
        yield connection


@asynccontextmanager
async def plain_asyncpg(url: str) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(url)
    try:
        async with connection.transaction():
            yield connection
    finally:
        await connection.close()


@asynccontextmanager
async def asyncpg_pool(url: str) -> AsyncIterator[Any]:
    """A connection of a pool, as for PgBouncer: without prepared statements, and within a savepoint."""
    async with (
        asyncpg.create_pool(url, min_size=1, max_size=1, statement_cache_size=0) as pool,
        pool.acquire() as connection,
        connection.transaction(isolation="serializable"),
        connection.transaction(),
    ):
        yield connection


@asynccontextmanager
async def odd_asyncpg(url: str) -> AsyncIterator[Any]:
    """With BEGIN and COMMIT by hand, and types and rows of the caller's own."""

    class OwnRecord(asyncpg.Record):
        """As applications make them, to read columns as attributes."""

    connection = await asyncpg.connect(url, record_class=OwnRecord)
    try:
        await connection.set_type_codec("uuid", schema="pg_catalog", encoder=str, decoder=str)
        await connection.set_type_codec("jsonb", schema="pg_catalog", encoder=json.dumps, decoder=json.loads)
        await connection.execute("BEGIN")
        yield connection
        await connection.execute("COMMIT")
    finally:
        await connection.close()


def async_engine_for(url: str, driver: str = "psycopg") -> Any:
    return create_async_engine(with_driver(url, driver if "postgres" in url else "aiosqlite"), poolclass=NullPool)


@asynccontextmanager
async def async_alchemy_connect(url: str) -> AsyncIterator[Any]:
    async with async_engine_for(url).connect() as connection:
        yield connection
        await connection.commit()


@asynccontextmanager
async def async_alchemy_session(url: str) -> AsyncIterator[Any]:
    async with AsyncSession(async_engine_for(url)) as session:
        yield session
        await session.commit()


@asynccontextmanager
async def alchemy_asyncpg_connect(url: str) -> AsyncIterator[Any]:
    async with async_engine_for(url, "asyncpg").connect() as connection:
        yield connection
        await connection.commit()


@asynccontextmanager
async def alchemy_asyncpg_session(url: str) -> AsyncIterator[Any]:
    """As behind PgBouncer: no statement stays prepared."""
    options = {"statement_cache_size": 0, "prepared_statement_cache_size": 0}
    engine = create_async_engine(with_driver(url, "asyncpg"), poolclass=NullPool, connect_args=options)
    async with AsyncSession(engine) as session, session.begin():
        yield session


ASYNCPG = [plain_asyncpg, asyncpg_pool, odd_asyncpg, alchemy_asyncpg_connect, alchemy_asyncpg_session]
ASYNC_WAYS: list[tuple[str, Way]] = [
    *(("sqlite", w) for w in (implicit_aiosqlite, explicit_aiosqlite, async_alchemy_connect, async_alchemy_session)),
    *(("postgres", w) for w in (async_psycopg, autocommit_async_psycopg, async_alchemy_connect, async_alchemy_session)),
    *(("postgres", w) for w in ASYNCPG),
]


def each(name: str, ways: list[tuple[str, Way]]) -> pytest.MarkDecorator:
    """Each way with the store it is for."""
    ids = [f"{kind}-{way.__name__}" for kind, way in ways]
    return pytest.mark.parametrize(("sql_store_url", name), ways, indirect=["sql_store_url"], ids=ids)


each_way = each("way", WAYS)
each_async_way = each("async_way", ASYNC_WAYS)


def enqueue(bell: Workbell, connection: Any, to: str = "x", **options: Any) -> Any:
    return bell.enqueue("send", {"to": to}, connection=connection, **options)


async def aenqueue(bell: Workbell, connection: Any, to: str = "x", **options: Any) -> Any:
    return await bell.aenqueue("send", {"to": to}, connection=connection, **options)
