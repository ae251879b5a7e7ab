"""`connection=` within savepoints: a rollback to one takes the runs made since along, and keeps earlier ones."""

from __future__ import annotations

from typing import Any

import psycopg2
import pytest

from tests.integration.connection_ways import (
    Way,
    aenqueue,
    alchemy_asyncpg_connect,
    alchemy_asyncpg_session,
    alchemy_begin,
    alchemy_psycopg2_session,
    alchemy_session,
    async_alchemy_session,
    async_psycopg,
    asyncpg_pool,
    each,
    enqueue,
    plain_asyncpg,
    plain_psycopg,
    plain_psycopg2,
)
from workbell import Workbell

WAYS = [alchemy_begin, alchemy_session, alchemy_psycopg2_session, plain_psycopg, plain_psycopg2]
ASYNC_WAYS = [
    alchemy_asyncpg_connect,
    alchemy_asyncpg_session,
    async_alchemy_session,
    async_psycopg,
    asyncpg_pool,
    plain_asyncpg,
]


class Oops(Exception):
    """The caller's own failure."""


class ByHand:
    """Savepoint of a psycopg2 connection, which has no method for one."""

    def __init__(self, connection: psycopg2.extensions.connection) -> None:
        self._cursor = connection.cursor()

    def __enter__(self) -> None:
        self._cursor.execute("SAVEPOINT own")

    def __exit__(self, failed: object, *_: object) -> None:
        self._cursor.execute("ROLLBACK TO SAVEPOINT own" if failed else "RELEASE SAVEPOINT own")


def savepoint(connection: Any) -> Any:
    if isinstance(connection, psycopg2.extensions.connection):
        return ByHand(connection)
    return connection.begin_nested() if hasattr(connection, "begin_nested") else connection.transaction()


@each("way", [("postgres", way) for way in WAYS])
def test_a_savepoint_takes_its_runs_along(bell: Workbell, sql_store_url: str, way: Way) -> None:
    with way(sql_store_url) as connection:
        enqueue(bell, connection, "before")
        with pytest.raises(Oops), savepoint(connection):  # noqa: PT012
            enqueue(bell, connection, "lost")
            enqueue(bell, connection, "lost", key="k")
            bell.emit("orders.placed", connection=connection)
            raise Oops
        with savepoint(connection):
            enqueue(bell, connection, "kept", key="k")
    assert {run.input["to"] for run in bell.runs()} == {"before", "kept"}
    assert bell.events.list() == []


@pytest.mark.anyio
@each("way", [("postgres", way) for way in ASYNC_WAYS])
async def test_an_async_savepoint_takes_its_runs_along(bell: Workbell, sql_store_url: str, way: Way) -> None:
    async with way(sql_store_url) as connection:
        await aenqueue(bell, connection, "before")
        with pytest.raises(Oops):  # noqa: PT012
            async with savepoint(connection):
                await aenqueue(bell, connection, "lost")
                await aenqueue(bell, connection, "lost", key="k")
                await bell.aemit("orders.placed", connection=connection)
                raise Oops
        async with savepoint(connection):
            await aenqueue(bell, connection, "kept", key="k")
    assert {run.input["to"] for run in bell.runs()} == {"before", "kept"}
    assert bell.events.list() == []
