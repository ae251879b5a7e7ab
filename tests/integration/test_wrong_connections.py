"""`connection=` with the wrong connection: refused in a sentence, and still of use to its owner."""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path
from typing import Any

import aiosqlite
import psycopg
import pytest

from tests.integration.connection_ways import (
    ALCHEMY,
    ASYNC_WAYS,
    aenqueue,
    engine_for,
    enqueue,
    implicit_sqlite3,
    path_of,
)
from tests.support.inside.stores import open_store
from tests.support.inside.values import Settings
from workbell import Workbell, WrongConnection

AUTOCOMMIT: list[dict[str, Any]] = [{"isolation_level": None}]
if sys.version_info >= (3, 12):
    AUTOCOMMIT.append({"autocommit": True})


def refused(bell: Workbell, connection: Any) -> str:
    with pytest.raises(WrongConnection) as told:
        enqueue(bell, connection)
    message = str(told.value)
    assert message.startswith("connection=: ")
    assert message.endswith(".")
    return message


@pytest.mark.parametrize("sql_store_url", ["sqlite"], indirect=True)
def test_another_sqlite_file(bell: Workbell, sql_store_url: str, tmp_path: Path) -> None:
    for place in (str(tmp_path / "other.db"), ":memory:"):
        connection = sqlite3.connect(place)
        connection.execute("CREATE TABLE own (id)")
        connection.execute("INSERT INTO own VALUES (1)")
        assert "hand in a connection to the store's file" in refused(bell, connection)
        connection.execute("INSERT INTO own VALUES (2)")
        connection.commit()
        assert connection.execute("SELECT count(*) FROM own").fetchone() == (2,)
        connection.close()
    assert bell.runs() == []


@pytest.mark.parametrize("sql_store_url", ["sqlite"], indirect=True)
def test_the_same_file_by_another_name_is_taken(bell: Workbell, sql_store_url: str, tmp_path: Path) -> None:
    bell.runs()
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    with implicit_sqlite3(f"sqlite:///{link / 'workbell.db'}") as connection:
        run = enqueue(bell, connection)
    assert bell.get(run.id) == run


@pytest.mark.parametrize("sql_store_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("mode", AUTOCOMMIT, ids=str)
def test_sqlite_in_autocommit_is_refused_until_it_begins(
    bell: Workbell, sql_store_url: str, mode: dict[str, Any]
) -> None:
    connection = sqlite3.connect(path_of(sql_store_url), **mode)
    assert "is in no transaction; execute BEGIN first" in refused(bell, connection)
    assert not connection.in_transaction
    assert bell.runs() == []
    connection.execute("BEGIN")
    run = enqueue(bell, connection)
    connection.execute("COMMIT")
    assert bell.get(run.id) == run
    connection.close()
    engine = engine_for(sql_store_url).execution_options(isolation_level="AUTOCOMMIT")
    with engine.connect() as alchemy:
        assert "is in no transaction" in refused(bell, alchemy)


@pytest.mark.anyio
@pytest.mark.parametrize("sql_store_url", ["sqlite"], indirect=True)
async def test_aiosqlite_in_autocommit_or_elsewhere_is_refused(
    bell: Workbell, sql_store_url: str, tmp_path: Path
) -> None:
    for mode in AUTOCOMMIT:
        async with aiosqlite.connect(path_of(sql_store_url), **mode) as connection:
            with pytest.raises(WrongConnection, match="is in no transaction; execute BEGIN first"):
                await aenqueue(bell, connection)
    async with aiosqlite.connect(tmp_path / "other.db") as connection:
        with pytest.raises(WrongConnection, match="hand in a connection to the store's file"):
            await aenqueue(bell, connection)


@pytest.mark.parametrize("sql_store_url", ["sqlite"], indirect=True)
def test_no_checkpoint_is_made_by_a_callers_connection(bell: Workbell, sql_store_url: str) -> None:
    """A commit and a checkpoint of different connections must not overlap (see stores/sqlite/file.py)."""
    with implicit_sqlite3(sql_store_url) as connection:
        assert connection.execute("PRAGMA wal_autocheckpoint").fetchone() != (0,)
        enqueue(bell, connection)
        assert connection.execute("PRAGMA wal_autocheckpoint").fetchone() == (0,)


@pytest.mark.parametrize("sql_store_url", ["postgres"], indirect=True)
@pytest.mark.parametrize("other", ["empty_postgres_url", "second_postgres_url"])
def test_another_postgresql_database(
    bell: Workbell, sql_store_url: str, other: str, request: pytest.FixtureRequest
) -> None:
    """Without our tables, or with those of another store; the transaction goes on as if nothing had been."""
    with psycopg.connect(request.getfixturevalue(other)) as connection:
        connection.execute("CREATE TABLE own (id integer)")
        assert "is open on another database than the store's" in refused(bell, connection)
        connection.execute("INSERT INTO own VALUES (1)")
        connection.commit()
        assert connection.execute("SELECT count(*) FROM own").fetchone() == (1,)
    assert bell.runs() == []


@pytest.fixture
def second_postgres_url(empty_postgres_url: str) -> str:
    """A database with a Workbell of its own in it."""
    store = open_store(empty_postgres_url)
    store.migrate()
    store.close()
    return empty_postgres_url


@pytest.mark.parametrize("sql_store_url", ["postgres"], indirect=True)
def test_postgresql_in_autocommit_is_refused_until_it_begins(bell: Workbell, sql_store_url: str) -> None:
    with psycopg.connect(sql_store_url, autocommit=True) as connection:
        assert "is in autocommit and in no transaction" in refused(bell, connection)
        with connection.transaction():
            run = enqueue(bell, connection)
        assert bell.get(run.id) == run
        assert "is in autocommit" in refused(bell, connection)  # known by now, and refused all the same
        connection.execute("BEGIN")
        again = enqueue(bell, connection)
        connection.execute("ROLLBACK")
        assert [each.id for each in bell.runs()] == [run.id] != [again.id]
    engine = engine_for(sql_store_url).execution_options(isolation_level="AUTOCOMMIT")
    with engine.connect() as alchemy:
        assert "is in autocommit" in refused(bell, alchemy)


@pytest.mark.parametrize("sql_store_url", ["postgres"], indirect=True)
def test_a_failed_or_closed_connection_is_named(bell: Workbell, sql_store_url: str) -> None:
    with psycopg.connect(sql_store_url) as connection:
        with pytest.raises(psycopg.Error):
            connection.execute("SELECT nonsense")
        assert "its transaction has failed; roll it back" in refused(bell, connection)
        connection.rollback()
        run = enqueue(bell, connection)
        connection.commit()
        assert bell.get(run.id) == run
    assert "it is closed" in refused(bell, connection)


@pytest.mark.parametrize("sql_store_url", ["postgres"], indirect=True)
def test_a_connection_in_a_pipeline_is_refused(bell: Workbell, sql_store_url: str) -> None:
    """There a statement has no answer yet."""
    with psycopg.connect(sql_store_url) as connection:
        for _ in range(2):  # a connection that is not known yet, and one that is
            with connection.pipeline():
                assert "it is in a pipeline" in refused(bell, connection)
            run = enqueue(bell, connection)
        connection.commit()
        assert bell.get(run.id) == run


@pytest.mark.anyio
@pytest.mark.parametrize("sql_store_url", ["postgres"], indirect=True)
async def test_an_async_connection_in_a_pipeline_is_refused(bell: Workbell, sql_store_url: str) -> None:
    async with await psycopg.AsyncConnection.connect(sql_store_url) as connection, connection.pipeline():
        with pytest.raises(WrongConnection, match="it is in a pipeline"):
            await aenqueue(bell, connection)


@pytest.mark.anyio
@pytest.mark.parametrize("sql_store_url", ["postgres"], indirect=True)
async def test_async_postgresql_in_autocommit_or_elsewhere_is_refused(
    bell: Workbell, sql_store_url: str, empty_postgres_url: str
) -> None:
    async with await psycopg.AsyncConnection.connect(sql_store_url, autocommit=True) as connection:
        with pytest.raises(WrongConnection, match="is in autocommit and in no transaction"):
            await aenqueue(bell, connection)
    async with await psycopg.AsyncConnection.connect(empty_postgres_url) as connection:
        with pytest.raises(WrongConnection, match="another database than the store's"):
            await aenqueue(bell, connection)
        assert await (await connection.execute("SELECT 1")).fetchone() == (1,)


@pytest.mark.parametrize("connection", [object(), "postgresql://x", 5], ids=["object", "text", "number"])
def test_what_is_no_connection_at_all(bell: Workbell, connection: Any) -> None:
    assert "cannot be used here; hand in a" in refused(bell, connection)


def test_an_engine_is_no_connection(bell: Workbell, sql_store_url: str) -> None:
    assert "cannot be used here; hand in a" in refused(bell, engine_for(sql_store_url))


def test_a_connection_of_the_other_kind_of_store(
    bell: Workbell, sql_store_url: str, tmp_path: Path, postgres_url: str
) -> None:
    with implicit_sqlite3(f"sqlite:///{tmp_path / 'other.db'}") as lite, psycopg.connect(postgres_url) as post:
        assert "cannot be used here" in refused(bell, post if "sqlite" in sql_store_url else lite)
    url = postgres_url if "sqlite" in sql_store_url else f"sqlite:///{tmp_path / 'other.db'}"
    with engine_for(url).connect() as alchemy:
        assert "Connection over " in refused(bell, alchemy)


@pytest.mark.anyio
async def test_the_wrong_verb_names_the_right_one(bell: Workbell, sql_store_url: str) -> None:
    for way in ALCHEMY if "postgres" in sql_store_url else (implicit_sqlite3, *ALCHEMY):
        with way(sql_store_url) as connection, pytest.raises(WrongConnection, match=r"synchronous; use enqueue\(\)"):
            await aenqueue(bell, connection)
    kind = "postgres" if "postgres" in sql_store_url else "sqlite"
    for each, async_way in ASYNC_WAYS:
        if each == kind:
            async with async_way(sql_store_url) as connection:
                assert "is asynchronous; use aenqueue() or aemit() with it" in refused(bell, connection)


def test_the_memory_store_has_no_database() -> None:
    with Workbell(settings=Settings(url="memory://")) as bell:
        bell.job(name="send")(lambda: None)
        with pytest.raises(WrongConnection, match="the memory store has no database"):
            bell.enqueue("send", connection=object())
