"""`connection=` on a file that has no tables of Workbell yet: said at once, with what to do."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import aiosqlite
import psycopg
import pytest
from sqlalchemy import event
from sqlalchemy.ext.asyncio import create_async_engine

from tests.integration.connection_ways import aenqueue, engine_for, enqueue, path_of, with_driver
from workbell import SchemaMismatch, Workbell, WrongConnection, prepare_sqlite

AT_ONCE = 5.0  # seconds; half of what is waited for a lock
SAID = "has no tables of Workbell yet, and they cannot be made while a transaction holds the file; run `workbell mig"


@pytest.fixture
def bell(empty_sqlite_url: str) -> Iterator[Workbell]:
    with Workbell(empty_sqlite_url) as made:

        @made.job
        def send(to: str) -> None: ...

        yield made


@pytest.mark.parametrize("log", [False, True], ids=["no log", "with a log"])
@pytest.mark.parametrize("call", [enqueue, lambda bell, c: bell.emit("a.b", connection=c)], ids=["enqueue", "emit"])
def test_within_a_transaction(
    bell: Workbell, empty_sqlite_url: str, call: Callable[[Workbell, Any], Any], log: bool
) -> None:
    connection = sqlite3.connect(path_of(empty_sqlite_url))
    if log:
        connection.execute("PRAGMA journal_mode = wal")
    connection.execute("CREATE TABLE orders (id)")
    connection.execute("INSERT INTO orders VALUES (1)")
    begun = time.monotonic()
    with pytest.raises(SchemaMismatch, match=SAID):
        call(bell, connection)
    assert time.monotonic() - begun < AT_ONCE
    connection.execute("INSERT INTO orders VALUES (2)")  # the transaction is still of use
    connection.commit()
    bell.runs(limit=1)
    call(bell, connection)
    connection.commit()
    connection.close()
    assert len(bell.runs()) + len(bell.events.list()) == 1


def test_tables_are_found_after_a_short_lock(sqlite_url: str) -> None:
    """A program that opens the file after a crash, or is the last to close it, keeps also readers out for a moment."""
    alone = sqlite3.connect(path_of(sqlite_url), isolation_level=None, check_same_thread=False)
    alone.execute("PRAGMA locking_mode = exclusive")
    alone.execute("BEGIN IMMEDIATE")
    alone.execute("COMMIT")
    connection = sqlite3.connect(path_of(sqlite_url))
    ending = threading.Timer(0.2, alone.close)
    with Workbell(sqlite_url) as bell:

        @bell.job
        def send(to: str) -> None: ...

        ending.start()
        enqueue(bell, connection)
        connection.commit()
        ending.join()
        assert len(bell.runs()) == 1
    connection.close()


def test_before_the_transaction_holds_anything(bell: Workbell, empty_sqlite_url: str) -> None:
    connection = sqlite3.connect(path_of(empty_sqlite_url))
    connection.execute("CREATE TABLE orders (id)")
    enqueue(bell, connection)
    connection.commit()
    connection.close()
    assert len(bell.runs()) == 1


@pytest.mark.anyio
async def test_async(bell: Workbell, empty_sqlite_url: str) -> None:
    async with aiosqlite.connect(path_of(empty_sqlite_url)) as connection:
        await connection.execute("CREATE TABLE orders (id)")
        await connection.execute("INSERT INTO orders VALUES (1)")
        begun = time.monotonic()
        with pytest.raises(SchemaMismatch, match=SAID):
            await aenqueue(bell, connection)
        with pytest.raises(SchemaMismatch, match=SAID):
            await bell.aemit("a.b", connection=connection)
        assert time.monotonic() - begun < AT_ONCE
        await connection.commit()
    assert bell.runs() == []


def test_a_snapshot_of_postgresql_from_before_the_tables(empty_postgres_url: str) -> None:
    """Tables are made on a connection of ours; a snapshot that is older does not see what is in them."""
    with Workbell(empty_postgres_url) as bell, psycopg.connect(empty_postgres_url) as connection:

        @bell.job
        def send(to: str) -> None: ...

        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.execute("SELECT 1")
        with pytest.raises(WrongConnection, match="began before Workbell's tables were made, and does not see them"):
            enqueue(bell, connection)
        connection.rollback()
        enqueue(bell, connection)
        connection.commit()
        assert len(bell.runs()) == 1


def test_a_pool_of_sqlalchemy(sqlite_url: str) -> None:
    """Each of its connections makes no checkpoints, whoever uses it."""
    engine = engine_for(sqlite_url)
    event.listen(engine, "connect", lambda connection, _record: prepare_sqlite(connection))
    with engine.connect() as one, engine.connect() as other:
        for connection in (one, other):
            assert connection.exec_driver_sql("PRAGMA wal_autocheckpoint").scalar() == 0
    engine.dispose()


@pytest.mark.anyio
async def test_an_async_pool_of_sqlalchemy(sqlite_url: str) -> None:
    engine = create_async_engine(with_driver(sqlite_url, "aiosqlite"))
    event.listen(engine.sync_engine, "connect", lambda connection, _record: prepare_sqlite(connection))
    async with engine.connect() as connection:
        assert (await connection.exec_driver_sql("PRAGMA wal_autocheckpoint")).scalar() == 0
    await engine.dispose()


@pytest.mark.anyio
async def test_what_cannot_be_prepared_is_told_what_to_do(sqlite_url: str) -> None:
    async with aiosqlite.connect(path_of(sqlite_url)) as connection:
        with pytest.raises(WrongConnection, match=r"await connection\.execute"):
            prepare_sqlite(connection)
    with pytest.raises(WrongConnection, match="hand in a sqlite3 connection"):
        prepare_sqlite(sqlite_url)
