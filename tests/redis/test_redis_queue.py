"""The Redis queue: its contract, its keys, and what it says of a Redis that cannot be used."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator

import pytest
import redis

from tests.support.redis_server import RedisServer
from workbell.errors import InvalidUrl, QueueUnavailable
from workbell.queues import redis as module
from workbell.queues.opening import open_queue
from workbell.queues.port import Permit, Queue, Sent
from workbell.queues.redis import RedisQueue
from workbell.stores.memory.store import MemoryStore
from workbell.testing.contracts.queue import MOMENT, Connect, QueueContract, named, receive


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def connect(redis_server: RedisServer, store: MemoryStore) -> Iterator[Connect]:
    yield from connecting(redis_server.url(), store)


def connecting(url: str, store: MemoryStore) -> Iterator[Connect]:
    opened: list[Queue] = []

    def connect() -> Queue:
        opened.append(open_queue(url, store))  # type: ignore[arg-type]
        return opened[-1]

    yield connect
    for queue in opened:
        queue.close()


class TestContract(QueueContract):
    pass


class TestBySocket(QueueContract):
    @pytest.fixture
    def connect(self, redis_server: RedisServer, store: MemoryStore) -> Iterator[Connect]:
        yield from connecting(f"unix://{redis_server.folder}/socket", store)


@pytest.fixture(scope="module")
def old_redis() -> Iterator[RedisServer]:
    server = RedisServer("--rename-command", "BLMPOP", "").start()
    yield server
    server.remove()


class TestBeforeRedis7(QueueContract):
    """BLPOP, where there is no BLMPOP."""

    @pytest.fixture
    def connect(self, old_redis: RedisServer, store: MemoryStore) -> Iterator[Connect]:
        yield from connecting(old_redis.url(), store)


def raw(server: RedisServer) -> redis.Redis:
    return redis.Redis(port=server.port)


class TestKeys:
    def test_two_stores_do_not_mix(self, redis_server: RedisServer, connect: Connect) -> None:
        connect().send([Sent("0198", "mail")])
        other = RedisQueue(redis_server.url(), MemoryStore().identity)
        assert other.receive(10, MOMENT, None) == []
        assert other.receive(10, MOMENT, ["mail"]) == []
        assert named(receive(connect(), 1)) == ["0198"]
        other.close()

    def test_a_message_has_an_id_and_nothing_else(
        self, redis_server: RedisServer, connect: Connect, store: MemoryStore
    ) -> None:
        connect().send([Sent("0198", "mail")])
        key = f"workbell:{{{store.identity()}}}:queue:mail"
        assert raw(redis_server).lrange(key, 0, -1) == [b'{"version":1,"run":"0198"}']
        assert 0 < raw(redis_server).ttl(key) <= module.EXPIRE

    def test_a_list_has_an_end(
        self, redis_server: RedisServer, connect: Connect, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "LONGEST", 10)
        monkeypatch.setattr(module, "AT_ONCE", 3)
        sender = connect()
        sender.send([Sent(f"a{number}", "mail") for number in range(25)])
        sender.send([Sent("last", "mail")])
        key = f"workbell:{{{store.identity()}}}:queue:mail"
        assert raw(redis_server).llen(key) == 10
        runs = [permit.run for permit in connect().receive(20, 1, ["mail"])]
        assert runs == [*(f"a{number}" for number in range(16, 25)), "last"], "the oldest are dropped"

    def test_a_new_queue_name_reaches_one_who_serves_all(self, connect: Connect) -> None:
        sender, receiver = connect(), connect()
        found: list[Permit] = []
        waiting = threading.Thread(target=lambda: found.extend(receiver.receive(1, 10, None)))
        waiting.start()
        time.sleep(0.1)  # it is blocked, and knows no name
        sender.send([Sent("0198", "brand new")])
        waiting.join(10)
        assert [permit.run for permit in found] == ["0198"]

    def test_lists_take_turns(self, connect: Connect) -> None:
        sender, receiver = connect(), connect()
        for number in range(5):
            sender.send([Sent(f"a{number}", "a"), Sent(f"b{number}", "b")])
        first = [receiver.receive(1, 1, ["a", "b"])[0].run for _ in range(6)]
        assert {str(run)[0] for run in first[:2]} == {"a", "b"}, first


class TestTrouble:
    @pytest.mark.parametrize("text", ["garbage", '{"run": 7}', '{"version": 2, "run": "0198"}'])
    def test_a_message_that_cannot_be_read(
        self,
        text: str,
        redis_server: RedisServer,
        connect: Connect,
        store: MemoryStore,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        """It is named once a minute, and still wakes a worker, which asks the store."""
        sender, receiver = connect(), connect()
        sender.send([Sent("before", "mail")])
        raw(redis_server).rpush(f"workbell:{{{store.identity()}}}:queue:mail", text, text)
        sender.send([Sent("after", "mail")])
        with caplog.at_level(logging.WARNING, "workbell.queues"):
            found = receiver.receive(10, 1, ["mail"])
        assert [permit.run for permit in found] == ["before", None, None, "after"]
        (warning,) = [record.getMessage() for record in caplog.records]
        assert "message of the queue" in warning
        assert "update Workbell" in warning or "give Workbell a queue of its own" in warning

    def test_nobody_answers(self, store: MemoryStore) -> None:
        queue = RedisQueue("redis://me:secret@127.0.0.1:1/0", store.identity)
        for call in (lambda: queue.send([Sent("0198", "mail")]), lambda: queue.receive(1, 0.1, None)):
            with pytest.raises(
                QueueUnavailable, match=r"Redis at 127\.0\.0\.1:1/0 does not answer .*correct queue_url"
            ) as caught:
                call()
            assert "secret" not in str(caught.value)
        ((level, what, text),) = queue.describe()
        assert (level, what) == ("risk", "queue")
        assert "secret" not in text

    def test_a_wrong_password(self, store: MemoryStore) -> None:
        server = RedisServer("--requirepass", "right").start()
        try:
            for url in (server.url("wrong"), server.url()):
                with pytest.raises(
                    QueueUnavailable, match=r"refuses this user or password .*correct queue_url"
                ) as caught:
                    RedisQueue(url, store.identity).send([Sent("0198", "mail")])
                assert "wrong" not in str(caught.value)
            assert RedisQueue(server.url("right"), store.identity).describe()[0][0] == "ok"
        finally:
            server.remove()

    def test_one_that_hangs_is_given_up(self, own_redis: RedisServer, store: MemoryStore) -> None:
        """A call ends at its deadline, twice that if it was tried again; and all goes on when it answers again."""
        queue = RedisQueue(own_redis.url(), store.identity)
        queue.send([Sent("0198", "mail")])
        own_redis.freeze()
        try:
            began = time.monotonic()
            with pytest.raises(QueueUnavailable, match="does not answer"):
                queue.send([Sent("0199", "mail")])
            with pytest.raises(QueueUnavailable, match="does not answer"):
                queue.receive(1, 60, ["mail"])
            assert time.monotonic() - began < 4 * (module.DEADLINE + module.SLICE)
        finally:
            own_redis.thaw()
        queue.send([Sent("0200", "mail")])
        assert "0200" in [permit.run for permit in queue.receive(10, 1, ["mail"])]

    def test_one_that_was_started_again(self, own_redis: RedisServer, store: MemoryStore) -> None:
        queue = RedisQueue(own_redis.url(), store.identity)
        queue.send([Sent("0198", "mail")])
        assert queue.receive(1, 1, None)
        own_redis.kill()
        with pytest.raises(QueueUnavailable):
            queue.send([Sent("0199", "mail")])
        own_redis.start()
        queue.send([Sent("0200", "mail")])
        assert [permit.run for permit in queue.receive(10, 1, None)] == ["0200"]

    @pytest.mark.parametrize("url", ["redis://me:secret@host:nonsense/0", "redis://host/0?socket_timeout=secret"])
    def test_a_url_that_cannot_be_read(self, url: str, store: MemoryStore) -> None:
        with pytest.raises(InvalidUrl, match="write it as redis://") as caught:
            open_queue(url, store)  # type: ignore[arg-type]
        assert "secret" not in str(caught.value)
