"""`emit(connection=…)`: an event is told inside the caller's own transaction, and exists if and when that commits."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.integration.connection_ways import (
    Way,
    alchemy_asyncpg_session,
    alchemy_session,
    async_alchemy_connect,
    async_alchemy_session,
    async_psycopg,
    each,
    explicit_sqlite3,
    implicit_aiosqlite,
    implicit_sqlite3,
    odd_asyncpg,
    odd_psycopg,
    odd_psycopg2,
    odd_sqlite3,
    path_of,
    plain_psycopg,
)
from tests.support.inside.features import MatchEvents, Subscriptions
from tests.support.inside.making import trigger
from tests.support.inside.stores import Store
from tests.support.inside.values import Settings
from workbell import Event, Workbell, WrongConnection

# `connection=` itself is tried in every way with enqueue; here, one of each library and the oddest ones.
each_way = each(
    "way",
    [
        *(("sqlite", way) for way in (explicit_sqlite3, odd_sqlite3, alchemy_session)),
        *(("postgres", way) for way in (plain_psycopg, odd_psycopg, odd_psycopg2, alchemy_session)),
    ],
)
each_async_way = each(
    "async_way",
    [
        *(("sqlite", way) for way in (implicit_aiosqlite, async_alchemy_connect)),
        *(("postgres", way) for way in (async_psycopg, async_alchemy_session, odd_asyncpg, alchemy_asyncpg_session)),
    ],
)
plain_way = each("way", [("sqlite", implicit_sqlite3), ("postgres", plain_psycopg)])


class Oops(Exception):
    """The caller's own failure."""


@pytest.fixture
def bell(sql_store: Store) -> Iterator[Workbell]:
    made = Workbell(store=sql_store, settings=Settings())
    yield made
    made.runtime.close()


def stored(bell: Workbell) -> list[Event]:
    """Oldest first."""
    return bell.store.events.list("default", type=None, before=None, limit=100)[::-1]


@each_way
def test_a_commit_keeps_the_event(bell: Workbell, sql_store_url: str, way: Way) -> None:
    held = bell.emit("posts.created", key="held", source="/shop")
    with way(sql_store_url) as connection:
        made = bell.emit("posts.created", {"id": 7}, subject="posts/7", source="/shop", connection=connection)
        first = bell.emit("posts.created", 1, key="k", connection=connection)
        again = bell.emit("posts.created", 2, key="k", connection=connection)  # the first one is not committed yet
        assert again.id == first.id
        assert bell.emit("posts.created", key="held", source="/shop", connection=connection) == held
        assert stored(bell) == [held]
        assert [event.id for event in bell.store.events.waiting(9)] == [held.id]
    assert stored(bell) == [held, made, first]
    assert (made.data, made.subject) == ({"id": 7}, "posts/7")
    assert bell.emit("posts.created", key="k") == first
    with way(sql_store_url) as connection:
        assert bell.emit("posts.created", key="k", connection=connection) == first


@each_way
def test_a_rollback_leaves_nothing(bell: Workbell, sql_store_url: str, way: Way) -> None:
    held = bell.emit("posts.created", key="held")
    with pytest.raises(Oops), way(sql_store_url) as connection:  # noqa: PT012  the block is the transaction
        bell.emit("posts.created", connection=connection)
        lost = bell.emit("posts.created", key="k", connection=connection)
        bell.emit("posts.created", key="held", connection=connection)
        raise Oops
    assert stored(bell) == [held]
    assert bell.emit("posts.created", key="k").id != lost.id


@pytest.mark.anyio
@each_async_way
async def test_an_async_commit_keeps_the_event(bell: Workbell, sql_store_url: str, async_way: Way) -> None:
    held = await bell.aemit("posts.created", key="held")
    async with async_way(sql_store_url) as connection:
        made = await bell.aemit("posts.created", {"id": 7}, connection=connection)
        first = await bell.aemit("posts.created", 1, key="k", connection=connection)
        assert (await bell.aemit("posts.created", 2, key="k", connection=connection)).id == first.id
        assert await bell.aemit("posts.created", key="held", connection=connection) == held
        assert stored(bell) == [held]
    assert stored(bell) == [held, made, first]
    with pytest.raises(Oops):  # noqa: PT012
        async with async_way(sql_store_url) as connection:
            await bell.aemit("posts.created", key="new", connection=connection)
            raise Oops
    assert stored(bell) == [held, made, first]


@plain_way
@pytest.mark.parametrize("commits", [True, False])
def test_one_key_in_two_transactions_at_once(bell: Workbell, sql_store_url: str, way: Way, commits: bool) -> None:
    """The second waits for the end of the first, and has the first one's event if there is one."""
    with ThreadPoolExecutor(1) as thread:
        with suppress(Oops), way(sql_store_url) as connection:
            mine = bell.emit("posts.created", 1, key="k", connection=connection)
            waiting = thread.submit(bell.emit, "posts.created", 2, key="k")
            if not commits:
                raise Oops
        other = waiting.result(30)
    assert (other == mine) is commits
    assert stored(bell) == [other]
    assert other.data == (1 if commits else 2)


@pytest.mark.parametrize("sql_store_url", ["postgres"], indirect=True)
def test_a_slow_commit_is_fanned_out_all_the_same(bell: Workbell, sql_store_url: str) -> None:
    """C3: others that were told later may be done with by then; an event is found wherever it lies."""
    store = bell.store
    store.subscribers.write_trigger(trigger(pattern="posts.*"), None)
    duty = MatchEvents(store, bell.registry, Subscriptions(lambda: store), lambda _: None, 1)

    def fan_out() -> list[str | None]:
        while duty.fan_out_waiting(store.clock.now()):
            pass
        return [run.event for run in bell.runs()]

    with psycopg.connect(sql_store_url) as connection:
        slow = bell.emit("posts.created", connection=connection)
        quick = bell.emit("posts.created")
        assert slow.id < quick.id
        assert fan_out() == [quick.id]
    assert fan_out() == [slow.id, quick.id]
    assert fan_out() == [slow.id, quick.id]


def refused(bell: Workbell, connection: Any) -> str:
    with pytest.raises(WrongConnection, match=r"^connection=: .*\.$") as told:
        bell.emit("posts.created", connection=connection)
    assert stored(bell) == []
    return str(told.value)


@pytest.mark.anyio
async def test_the_wrong_connection_is_refused(
    bell: Workbell, sql_store_url: str, tmp_path: Path, empty_postgres_url: str
) -> None:
    """In a sentence, with nothing written, and the connection still of use."""
    assert "cannot be used here; hand in a" in refused(bell, object())
    if sql_store_url.startswith("sqlite"):
        others = [sqlite3.connect(tmp_path / "other.db"), sqlite3.connect(path_of(sql_store_url), isolation_level=None)]
        expected = ["hand in a connection to the store's file", "is in no transaction; execute BEGIN first"]
    else:
        others = [psycopg.connect(empty_postgres_url), psycopg.connect(sql_store_url, autocommit=True)]
        expected = ["is open on another database than the store's", "is in autocommit and in no transaction"]
    for connection, words in zip(others, expected, strict=True):
        assert words in refused(bell, connection)
        assert connection.execute("SELECT 1").fetchone() == (1,)
        with pytest.raises(WrongConnection, match=r"is synchronous; use enqueue\(\) or emit\(\) with it"):
            await bell.aemit("posts.created", connection=connection)
        connection.close()
    async with async_alchemy_connect(sql_store_url) as connection:
        assert "is asynchronous; use aenqueue() or aemit() with it" in refused(bell, connection)
