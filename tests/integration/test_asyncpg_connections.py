"""`connection=` with asyncpg, by itself and below SQLAlchemy: what is refused, and whose errors come through (F4)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession

from tests.integration.connection_ways import aenqueue, async_engine_for, enqueue, plain_asyncpg
from tests.support.inside.stores import open_store
from workbell import Workbell, WrongConnection

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("sql_store_url", ["postgres"], indirect=True)]


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(url)
    try:
        yield connection
    finally:
        await connection.close()


async def refused(bell: Workbell, connection: Any) -> str:
    messages = []
    for call in (
        lambda: aenqueue(bell, connection),
        lambda: bell.aemit("posts.created", connection=connection),
        lambda: bell.aenqueue_many([bell.request("send", {"to": "x"}, connection=connection)]),
    ):
        with pytest.raises(WrongConnection, match=r"^connection=: .*\.$") as told:
            await call()
        messages.append(str(told.value))
    assert len(set(messages)) == 1
    assert bell.runs() == []
    return messages[0]


async def test_without_a_transaction_it_is_refused(bell: Workbell, sql_store_url: str) -> None:
    async with opened(sql_store_url) as connection:
        message = await refused(bell, connection)
        assert "is in no transaction; open one with `async with connection.transaction():`" in message
        async with connection.transaction():
            run = await aenqueue(bell, connection)
        with pytest.raises(WrongConnection, match="is in no transaction"):  # known by now, and refused all the same
            await aenqueue(bell, connection)
    assert [one.id for one in bell.runs()] == [run.id]


async def test_a_pool_is_no_connection(bell: Workbell, sql_store_url: str) -> None:
    remedy = r"`async with pool\.acquire\(\) as connection, connection\.transaction\(\):`"
    async with asyncpg.create_pool(sql_store_url, min_size=1, max_size=1) as pool:
        with pytest.raises(WrongConnection, match=remedy):
            await aenqueue(bell, pool)
        with pytest.raises(WrongConnection, match=remedy):
            enqueue(bell, pool)
        for number in range(2):  # the same connection, by another proxy
            async with pool.acquire() as connection, connection.transaction():
                await aenqueue(bell, connection, str(number))
    assert [run.input["to"] for run in bell.runs()] == ["1", "0"]


@pytest.mark.parametrize("has_tables", [False, True])
async def test_another_database_is_refused(
    bell: Workbell, sql_store_url: str, empty_postgres_url: str, has_tables: bool
) -> None:
    if has_tables:
        store = open_store(empty_postgres_url)
        store.migrate()
        store.close()
    async with plain_asyncpg(empty_postgres_url) as connection:
        await connection.execute("CREATE TABLE own (id integer)")
        assert "is open on another database than the store's" in await refused(bell, connection)
        await connection.execute("INSERT INTO own VALUES (1)")
        assert await connection.fetchval("SELECT count(*) FROM own") == 1
    async with async_engine_for(empty_postgres_url, "asyncpg").connect() as alchemy:
        assert "is open on another database than the store's" in await refused(bell, alchemy)


async def test_a_failed_or_closed_connection_is_named(bell: Workbell, sql_store_url: str) -> None:
    async with opened(sql_store_url) as connection:
        for _ in range(2):  # unknown to us, and known
            transaction = connection.transaction()
            await transaction.start()
            with pytest.raises(asyncpg.UndefinedColumnError):
                await connection.fetch("SELECT nonsense")
            with pytest.raises(WrongConnection, match="its transaction has failed; roll it back"):
                await aenqueue(bell, connection)
            await transaction.rollback()
            async with connection.transaction():
                await aenqueue(bell, connection)
    with pytest.raises(WrongConnection, match="it is closed"):
        await aenqueue(bell, connection)
    assert len(bell.runs()) == 2


async def test_sqlalchemy_in_autocommit_is_refused(bell: Workbell, sql_store_url: str) -> None:
    engine = async_engine_for(sql_store_url, "asyncpg").execution_options(isolation_level="AUTOCOMMIT")
    async with engine.connect() as connection:
        assert "is in autocommit and in no transaction" in await refused(bell, connection)


async def test_errors_of_the_database_come_as_the_driver_raises_them(bell: Workbell, sql_store_url: str) -> None:
    async with plain_asyncpg(sql_store_url) as holder:
        await aenqueue(bell, holder, key="k")
        async with opened(sql_store_url) as connection:
            with pytest.raises(asyncpg.LockNotAvailableError):  # noqa: PT012
                async with connection.transaction():
                    await connection.execute("SET LOCAL lock_timeout = '20ms'")
                    await aenqueue(bell, connection, key="k")
        async with AsyncSession(async_engine_for(sql_store_url, "asyncpg")) as session:
            await (await session.connection()).exec_driver_sql("SET LOCAL lock_timeout = '20ms'")
            with pytest.raises(DBAPIError, match="canceling statement due to lock timeout"):
                await aenqueue(bell, session, key="k")
