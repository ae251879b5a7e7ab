"""PgBouncer in transaction mode: it is recognised, nothing is left in its sessions, and many clients share its pool."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import psycopg
import pytest

from tests.support.databases import Databases
from tests.support.not_pooled import POOLED, exceptions
from tests.support.pgbouncer import POOL
from workbell import Status, StoreUnavailable, Workbell
from workbell.doctor.queue import queue_findings
from workbell.stores.port import Store
from workbell.stores.postgres.store import PostgresStore

pytestmark = pytest.mark.anyio

CLIENTS = 40
EACH = 25


def test_the_tests_go_through_it(postgres_url: str, pooler_port: int) -> None:
    assert POOLED
    assert f":{pooler_port}/" in postgres_url
    assert all(why for why in exceptions().values())


class TestRecognised:
    def test_without_a_word(self, postgres_url: str) -> None:
        """And the doctor names it."""
        store = PostgresStore(postgres_url)
        (found,) = [(level, text) for level, what, text in store.describe() if what == "pooler"]
        assert store.calls.is_pooled
        assert not store.calls.can_listen
        (queue,) = queue_findings("store://", store, 5)
        store.close()
        assert (queue.level, queue.remedy) == ("note", "a queue (`queue_url`) wakes them at once.")
        assert queue.says == "nothing wakes workers, as the store's hints do not reach them; they poll every 5 s"
        assert found[0] == "note"
        assert "a Redis queue wakes workers at once" in found[1]

    def test_the_server_itself_is_none(self, databases: Databases, pooler_port: int) -> None:
        url = databases.take()
        assert f":{pooler_port}/" not in url
        store = PostgresStore(url)
        store.check()
        assert not store.calls.is_pooled
        assert store.calls.can_listen
        assert not [what for _, what, _ in store.describe() if what == "pooler"]
        store.close()
        databases.give_back(url)

    def test_session_mode_is_a_word_of_the_url(self, postgres_url: str) -> None:
        store = PostgresStore(f"{postgres_url}?pooler=session")
        store.check()
        assert store.calls.is_pooled
        assert store.calls.can_listen
        store.close()


@pytest.fixture
def watched(postgres_url: str) -> Iterator[Store]:
    store = PostgresStore(postgres_url)
    watch = store.watch()
    assert watch.wait(5), "that it has begun counts as a hint"
    assert not watch.wait(0.2)
    yield store
    watch.close()
    store.close()


def test_nothing_listens_in_a_shared_session(watched: Store, postgres_url: str) -> None:
    """A LISTEN would stay in a session that somebody else gets next."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        for _ in range(POOL * 2):
            assert connection.execute("SELECT * FROM pg_listening_channels()").fetchall() == []


def test_a_startup_parameter_that_it_refuses_is_named(postgres_url: str) -> None:
    store = PostgresStore(f"{postgres_url}?options=-csearch_path%3Dpublic")
    with pytest.raises(StoreUnavailable, match=r"startup parameter.*ignore_startup_parameters"):
        store.check()
    store.close()


async def test_forty_clients_on_a_pool_of_five(postgres_url: str) -> None:
    """Each with a connection of its own enqueues while workers claim, renew and book: every run ends, once."""
    ran: list[int] = []

    with Workbell(postgres_url) as bell:

        @bell.job
        def work(number: int) -> None:
            ran.append(number)

        def enqueue(client: int) -> None:
            with Workbell(postgres_url) as own:
                for turn in range(EACH):
                    own.enqueue("work", {"number": client * EACH + turn})

        async with bell.running():
            threads = [threading.Thread(target=enqueue, args=[client]) for client in range(CLIENTS)]
            for thread in threads:
                thread.start()
            for thread in threads:
                await asyncio.to_thread(thread.join)
            async with asyncio.timeout(60):
                while len(ran) < CLIENTS * EACH or bell.runs(status=[Status.RUNNING], limit=1):
                    await asyncio.sleep(0.05)
        assert sorted(ran) == list(range(CLIENTS * EACH))
        assert len(bell.runs(status=[Status.SUCCEEDED], limit=1000)) == CLIENTS * EACH
