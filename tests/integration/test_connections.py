"""`connection=`: a run is made inside the caller's own transaction, and exists if and when that commits."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import aiosqlite
import psycopg
import pytest
from psycopg.rows import dict_row
from sqlalchemy import create_engine, event, text
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session, scoped_session, sessionmaker
from sqlalchemy.pool import NullPool

from workbell import DuplicateRun, Status, Workbell, WrongConnection
from workbell.client import Client
from workbell.queues.in_store import InStoreQueue
from workbell.queues.port import Claimant
from workbell.settings import Settings
from workbell.stores.port import Store


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def bell(sql_store: Store) -> Iterator[Workbell]:
    made = Workbell(store=sql_store, settings=Settings())

    @made.job
    def send(to: str) -> None: ...

    yield made
    Client.close(made)


def path_of(url: str) -> str:
    return url.removeprefix("sqlite:///")


def with_driver(url: str, driver: str) -> str:
    """A store's URL as SQLAlchemy writes it."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}+{driver}://{rest}"


# Each way below opens a connection, runs a block in a transaction, and commits it; or rolls it back if it raises.


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


def engine_for(url: str) -> Any:
    return create_engine(with_driver(url, "psycopg") if "postgres" in url else url, poolclass=NullPool)


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


Way = Callable[[str], Any]
ALCHEMY = [alchemy_begin, alchemy_connect, alchemy_explicit_begin, alchemy_session, alchemy_scoped_session]
WAYS: list[tuple[str, Way]] = [
    *(("sqlite", way) for way in (implicit_sqlite3, explicit_sqlite3, odd_sqlite3, *ALCHEMY)),
    *(("postgres", way) for way in (plain_psycopg, odd_psycopg, autocommit_psycopg, *ALCHEMY)),
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


def async_engine_for(url: str) -> Any:
    return create_async_engine(with_driver(url, "psycopg" if "postgres" in url else "aiosqlite"), poolclass=NullPool)


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


ASYNC_WAYS: list[tuple[str, Way]] = [
    *(("sqlite", w) for w in (implicit_aiosqlite, explicit_aiosqlite, async_alchemy_connect, async_alchemy_session)),
    *(("postgres", w) for w in (async_psycopg, autocommit_async_psycopg, async_alchemy_connect, async_alchemy_session)),
]


def each(name: str, ways: list[tuple[str, Way]]) -> pytest.MarkDecorator:
    """Each way with the store it is for."""
    ids = [f"{kind}-{way.__name__}" for kind, way in ways]
    return pytest.mark.parametrize(("sql_store_url", name), ways, indirect=["sql_store_url"], ids=ids)


each_way = each("way", WAYS)
each_async_way = each("async_way", ASYNC_WAYS)


class Oops(Exception):
    """The caller's own failure."""


def claimed(bell: Workbell) -> list[str]:
    from datetime import timedelta

    claimant = Claimant("w1", timedelta(seconds=30), lambda lane: True)
    return [run.id for run in InStoreQueue(bell.store).claim(claimant, 100, bell.store.clock.now())]


def enqueue(bell: Workbell, connection: Any, to: str = "x", **options: Any) -> Any:
    return bell.enqueue("send", {"to": to}, connection=connection, **options)


async def aenqueue(bell: Workbell, connection: Any, to: str = "x", **options: Any) -> Any:
    return await bell.aenqueue("send", {"to": to}, connection=connection, **options)


# What holds for every way


@each_way
def test_a_commit_keeps_the_run(bell: Workbell, sql_store_url: str, way: Way) -> None:
    with way(sql_store_url) as connection:
        run = enqueue(bell, connection, "a")
        later = enqueue(bell, connection, "b", delay=60, queue="new lane", tag="t")
        # Nobody else sees it, and no worker gets it, before the commit.
        assert bell.runs() == []
        if "sqlite" not in sql_store_url:  # one writer at a time: there, a claim would wait
            assert claimed(bell) == []
    assert bell.get(run.id) == run
    assert bell.get(later.id) == later
    assert claimed(bell) == [run.id]


@each_way
def test_a_rollback_leaves_nothing(bell: Workbell, sql_store_url: str, way: Way) -> None:
    old = bell.enqueue("send", {"to": "old"}, key="k", tag="t")
    with pytest.raises(Oops), way(sql_store_url) as connection:  # noqa: PT012  the block is the transaction
        enqueue(bell, connection)
        enqueue(bell, connection, key="new")
        enqueue(bell, connection, key="k", on_duplicate="replace")
        enqueue(bell, connection, tag="t", replace_tag=True)
        raise Oops
    assert [run.id for run in bell.runs()] == [old.id]
    assert bell.get(old.id).status is Status.QUEUED
    assert bell.enqueue("send", {"to": "x"}, key="k").id == old.id
    assert bell.enqueue("send", {"to": "x"}, key="new").id != old.id


@each_way
def test_keys_work_inside(bell: Workbell, sql_store_url: str, way: Way) -> None:
    held = bell.enqueue("send", {"to": "held"}, key="held")
    with way(sql_store_url) as connection:
        first = enqueue(bell, connection, key="k")
        assert enqueue(bell, connection, key="k").id == first.id  # the holder is not committed yet
        assert enqueue(bell, connection, key="held") == held
        with pytest.raises(DuplicateRun) as told:
            enqueue(bell, connection, key="held", on_duplicate="reject")
        assert told.value.run_id == held.id
        after = enqueue(bell, connection, "after")  # the refusal did not spoil the transaction
        new = enqueue(bell, connection, key="held", on_duplicate="replace")
    assert {run.id for run in bell.runs(status="queued")} == {first.id, after.id, new.id}
    assert bell.get(held.id).reason == f"replaced by run {new.id} with the same key"


@each_way
def test_a_refused_duplicate_takes_back_what_it_replaced(bell: Workbell, sql_store_url: str, way: Way) -> None:
    tagged = bell.enqueue("send", {"to": "x"}, tag="t")
    bell.enqueue("send", {"to": "x"}, key="k")
    with way(sql_store_url) as connection:
        kept = enqueue(bell, connection)
        with pytest.raises(DuplicateRun):
            enqueue(bell, connection, tag="t", replace_tag=True, key="k", on_duplicate="reject")
    assert bell.get(tagged.id).status is Status.QUEUED
    assert bell.get(kept.id).status is Status.QUEUED


@each_way
def test_the_callers_own_rows_and_the_run_are_one(bell: Workbell, sql_store_url: str, way: Way) -> None:
    def execute(connection: Any, statement: str) -> Any:
        return connection.execute(text(statement) if "alchemy" in way.__name__ else statement)

    with way(sql_store_url) as connection:
        execute(connection, "CREATE TABLE orders (id integer)")
    with way(sql_store_url) as connection:
        execute(connection, "INSERT INTO orders VALUES (1)")
        run = enqueue(bell, connection)
    with pytest.raises(Oops), way(sql_store_url) as connection:  # noqa: PT012
        execute(connection, "INSERT INTO orders VALUES (2)")
        enqueue(bell, connection)
        execute(connection, "INSERT INTO orders VALUES (3)")
        raise Oops
    with way(sql_store_url) as connection:
        found = execute(connection, "SELECT count(*) AS number FROM orders").fetchall()
        assert str(next(iter(found[0].values())) if isinstance(found[0], dict) else found[0][0]) in ("1", "(1,)")
    assert [each.id for each in bell.runs()] == [run.id]


@pytest.mark.anyio
@each_async_way
async def test_an_async_commit_keeps_the_run(bell: Workbell, sql_store_url: str, async_way: Way) -> None:
    held = await bell.aenqueue("send", {"to": "held"}, key="held")
    async with async_way(sql_store_url) as connection:
        run = await aenqueue(bell, connection, "a", queue="new lane")
        first = await aenqueue(bell, connection, key="k")
        assert (await aenqueue(bell, connection, key="k")).id == first.id
        assert (await aenqueue(bell, connection, key="held")) == held
        with pytest.raises(DuplicateRun):
            await aenqueue(bell, connection, key="held", on_duplicate="reject", tag="t", replace_tag=True)
        new = await aenqueue(bell, connection, key="held", on_duplicate="replace")
        many = await bell.aenqueue_many(
            [bell.request("send", {"to": str(number)}, connection=connection) for number in range(3)]
        )
        assert [each.id for each in bell.runs()] == [held.id]
    made = {run.id, first.id, new.id, *(each.id for each in many)}
    assert {each.id for each in bell.runs(status="queued")} == made
    assert bell.get(held.id).status is Status.CANCELED


@pytest.mark.anyio
@each_async_way
async def test_an_async_rollback_leaves_nothing(bell: Workbell, sql_store_url: str, async_way: Way) -> None:
    with pytest.raises(Oops):  # noqa: PT012
        async with async_way(sql_store_url) as connection:
            await aenqueue(bell, connection)
            await aenqueue(bell, connection, key="k")
            raise Oops
    assert bell.runs() == []


# The wrong connection: refused in a sentence, and still of use to its owner


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
def test_sqlite_in_autocommit_is_refused_until_it_begins(bell: Workbell, sql_store_url: str) -> None:
    connection = sqlite3.connect(path_of(sql_store_url), isolation_level=None)
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
    async with aiosqlite.connect(path_of(sql_store_url), isolation_level=None) as connection:
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
    from workbell.app import open_store

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


@pytest.mark.parametrize("connection", [object(), "postgresql://x", 5], ids=str)
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
                assert "is asynchronous; use aenqueue() with it" in refused(bell, connection)


def test_the_memory_store_has_no_database() -> None:
    with Workbell("memory://", settings=Settings(url="memory://")) as bell:
        bell.job(name="send")(lambda: None)
        with pytest.raises(WrongConnection, match="the memory store has no database"):
            bell.enqueue("send", connection=object())
