"""An engine with a queue of a third party: its messages wake workers, and the store chooses the runs."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from tests.support.deaf import Deaf
from tests.support.third_party import install_queue
from tests.support.waiting import until
from workbell import Status, Workbell
from workbell.claims.claiming import Claimant, FairClaims
from workbell.engine.permits import PermitListener
from workbell.queues import guarded as module
from workbell.queues.guarded import GuardedQueue
from workbell.queues.port import Permit, Sent
from workbell.settings import Settings
from workbell.stores.sqlite.store import SqliteStore
from workbell.workers.keeper import Keeper
from workbell.workers.messages import Bury, DeathVerdict, StoreNamed

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NEVER = 60.0  # seconds between polls: the tests are over before


class Scene:
    """Workbells of one store and one queue, as in several processes."""

    def __init__(self, folder: Path) -> None:
        self.queue = folder / "queue"
        self.queue.mkdir()
        self._folder = folder
        self._opened: list[Workbell] = []

    def open(self, poll: float = NEVER, tenant: str = "default") -> Workbell:
        url, queue_url = f"sqlite:///{self._folder}/x.db", f"folder://{self.queue}"
        self._opened.append(Workbell(settings=Settings(url=url, queue_url=queue_url, poll=poll, tenant=tenant)))
        return self._opened[-1]

    @property
    def messages(self) -> list[Path]:
        return [file for file in self.queue.iterdir() if "@" in file.name]

    def close(self) -> None:
        for bell in self._opened:
            bell.close()


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    monkeypatch.syspath_prepend(install_queue(tmp_path / "site"))
    monkeypatch.setattr(SqliteStore, "watch", lambda _store: Deaf())
    scene = Scene(tmp_path)
    yield scene
    scene.close()
    sys.modules.pop("folder_queue", None)


def declare(bell: Workbell, order: list[str] | None = None) -> None:
    told = [] if order is None else order

    @bell.job
    def work(word: str = "") -> None:
        told.append(word)


class TestPermits:
    async def test_a_stop_waits_for_no_message(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        """Who stops takes none from the workers that go on either."""
        bell, receiving = scene.open(), threading.Event()
        declare(bell)
        real = GuardedQueue.receive

        def receive(queue: GuardedQueue, most: int, wait: float, queues: Sequence[str] | None) -> list[Permit]:
            receiving.set()
            return real(queue, most, wait, queues)

        monkeypatch.setattr(GuardedQueue, "receive", receive)
        async with bell.running():
            await asyncio.to_thread(receiving.wait, 30)
            began = time.monotonic()
        assert time.monotonic() - began < 10, "it has waited for a message"

    async def test_a_message_wakes_a_worker(self, scene: Scene) -> None:
        bell, other = scene.open(), scene.open()
        declare(bell)
        async with bell.running():
            for _ in range(3):
                run = await other.aenqueue("work")
                assert (await other.await_(run.id, timeout=30)).status is Status.SUCCEEDED
        assert scene.messages == []
        assert list((scene.queue / "taken").iterdir()) == [], "permits are acknowledged"

    async def test_losing_every_message_costs_latency_only(self, scene: Scene) -> None:
        bell, other = scene.open(poll=0.05), scene.open()
        (scene.queue / "deaf").touch()
        declare(bell)
        async with bell.running():
            run = await other.aenqueue("work")
            assert scene.messages == []
            assert (await other.await_(run.id, timeout=30)).status is Status.SUCCEEDED

    async def test_a_broken_queue_costs_latency_only(self, scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
        bell, other = scene.open(poll=0.05), scene.open()
        (scene.queue / "broken").touch()
        declare(bell)
        with caplog.at_level(logging.INFO, "workbell.queues"):
            async with bell.running():
                for _ in range(5):
                    run = await other.aenqueue("work")
                    assert (await other.await_(run.id, timeout=30)).status is Status.SUCCEEDED
        warned = [record.getMessage() for record in caplog.records if record.name == "workbell.queues"]
        assert Counter(text.split(" (")[0] for text in warned) == {
            "the queue cannot send": 1,
            "the queue cannot receive": 1,
        }
        assert not any("secret" in text for text in warned)

    async def test_a_busy_worker_leaves_messages_to_others(self, scene: Scene) -> None:
        busy, other, client = scene.open(), scene.open(), scene.open()
        begun, gate = asyncio.Event(), asyncio.Event()

        @busy.job
        async def work() -> str:
            begun.set()
            await gate.wait()
            return "busy"

        @other.job(name="work")
        async def same() -> str:
            return "other"

        async with busy.running(concurrency=1):
            held = await client.aenqueue("work")
            await asyncio.wait_for(begun.wait(), 30)
            async with other.running(concurrency=1):
                # One after the other: a worker that has just done something looks for more by itself.
                ended = [await client.await_((await client.aenqueue("work")).id, timeout=20) for _ in range(8)]
            gate.set()
            assert (await client.await_(held.id, timeout=30)).result == "busy"
        assert [run.result for run in ended] == ["other"] * 8

    async def test_a_worker_of_other_queues_is_not_woken(self, scene: Scene) -> None:
        bell, other = scene.open(), scene.open()
        declare(bell)
        async with bell.running(queues=["mail"]):
            await other.aenqueue("work")
            run = await other.aenqueue("work", queue="mail")
            assert (await other.await_(run.id, timeout=30)).status is Status.SUCCEEDED
        assert len(scene.messages) == 1

    def test_only_what_a_worker_can_take_now_is_sent(self, scene: Scene) -> None:
        bell = scene.open()
        declare(bell)
        bell.enqueue("work", delay=60)
        bell.enqueue("work", target="machine")
        assert scene.messages == []
        bell.for_tenant("acme").enqueue("work")
        bell.enqueue_many([bell.request("work"), bell.request("work")])
        assert len(scene.messages) == 3


class TestTheStoreChooses:
    async def test_tenants_share_whatever_the_order_of_messages(self, scene: Scene) -> None:
        order: list[str] = []
        bell, client = scene.open(), scene.open()
        declare(bell, order)
        big, small = bell.for_tenant("big"), bell.for_tenant("small")
        big.enqueue_many([big.request("work", {"word": "big"}) for _ in range(40)])
        small.enqueue_many([small.request("work", {"word": "small"}) for _ in range(5)])
        async with bell.running(concurrency=1):
            await asyncio.to_thread(until, lambda: len(order) == 45, "all runs to end")
        assert order[:12].count("small") >= 4, order
        assert client.store.runs.held_by("nobody") == []

    async def test_a_pause_holds(self, scene: Scene) -> None:
        order: list[str] = []
        bell = scene.open()
        declare(bell, order)
        bell.store.check()
        bell.pause(queue="mail")
        held = bell.enqueue("work", {"word": "held"}, queue="mail")
        async with bell.running():
            free = await bell.aenqueue("work", {"word": "free"})
            await bell.await_(free.id, timeout=30)
            await asyncio.to_thread(until, lambda: scene.messages == [], "all messages to be taken")
            assert bell.get(held.id).status is Status.QUEUED
        assert order == ["free"]

    async def test_a_limit_holds(self, scene: Scene) -> None:
        bell, client = scene.open(), scene.open()
        working, most = [0], [0]

        @bell.job(concurrency=2)
        async def work() -> None:
            working[0] += 1
            most[0] = max(most[0], working[0])
            await asyncio.sleep(0)
            working[0] -= 1

        async with bell.running(concurrency=8):
            runs = [await client.aenqueue("work") for _ in range(12)]
            ended = [await client.await_(run.id, timeout=30) for run in runs]
        assert {run.status for run in ended} == {Status.SUCCEEDED}
        assert 1 <= most[0] <= 2


def test_the_keeper_announces_what_a_dead_worker_held(scene: Scene) -> None:
    bell = scene.open()
    declare(bell)
    run, settings = bell.enqueue("work"), bell.settings
    (taken,) = scene.messages
    taken.unlink()
    claimant = Claimant("box/1/2/a", settings.lease_span, lambda _lane: True)
    assert FairClaims(bell.store).claim(claimant, 1, bell.store.clock.now())
    named = StoreNamed(settings.url, 30.0, 60.0, 60.0, queue_url=settings.queue_url)
    keeper = Keeper(named, None)  # type: ignore[arg-type]
    try:
        keeper._bury(Bury("box/1/2/a", "was killed", DeathVerdict.HANDED_BACK, [run.id], []))
    finally:
        keeper._store.close()
    (sent,) = scene.messages
    assert run.id in sent.read_text("utf-8")


class FakeQueue:
    """Gives one permit, and keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, object]] = []
        self.error: Exception | None = None

    def send(self, sent: Sequence[Sent]) -> None:
        self._tell("send", len(sent))

    def receive(self, most: int, wait: float, queues: Sequence[str] | None) -> list[Permit]:
        self._tell("receive", most)
        return [Permit("run", "receipt")]

    def ack(self, receipts: Sequence[str]) -> None:
        self._tell("ack", list(receipts))

    def give_back(self, receipts: Sequence[str], delay: float) -> None:
        self._tell("give_back", list(receipts))

    def interrupt(self) -> None:
        self._tell("interrupt", None)

    def close(self) -> None:
        self._tell("close", None)

    def _tell(self, verb: str, what: object) -> None:
        self.told.append((verb, what))
        if self.error is not None:
            raise self.error


class TestEar:
    def test_permits_are_taken_for_hands_that_are_free(self) -> None:
        queue, heard = FakeQueue(), list[int]()
        assert PermitListener(queue, lambda _: heard.append(1), room=lambda: 3).step(NOW) == 0
        assert queue.told == [("receive", 3), ("ack", ["receipt"])]
        assert heard == [1]

    def test_a_rest_follows_where_hints_are_not_urgent(self) -> None:
        assert PermitListener(FakeQueue(), lambda _: None, rest=0.02).step(NOW) == 0.02

    def test_none_are_taken_without_a_free_hand(self) -> None:
        queue = FakeQueue()
        assert PermitListener(queue, lambda _: None, room=lambda: 0).step(NOW) is None
        assert queue.told == []

    def test_they_are_given_back_if_the_hands_were_filled_meanwhile(self) -> None:
        queue, heard, rooms = FakeQueue(), list[int](), [2, 0]
        assert PermitListener(queue, lambda _: heard.append(1), room=lambda: rooms.pop(0)).step(NOW) is None
        assert queue.told == [("receive", 2), ("give_back", ["receipt"])]
        assert heard == []


class TestGuardedQueue:
    @pytest.mark.parametrize("error", [OSError("gone"), RuntimeError("closed"), ValueError("odd answer")])
    def test_no_verb_raises(self, error: Exception) -> None:
        """Whatever a queue's library raises: its own errors are no `OSError`."""
        queue = FakeQueue()
        queue.error = error
        guarded = GuardedQueue(queue)
        guarded.send([Sent("run", "default")])
        assert guarded.receive(1, 0.01, None) == []
        guarded.ack(["receipt"])
        guarded.give_back(["receipt"], 0)
        guarded.interrupt()
        guarded.close()
        assert [verb for verb, _ in queue.told] == ["send", "receive", "ack", "give_back", "interrupt", "close"]

    def test_after_an_error_it_is_left_alone_for_a_moment(self) -> None:
        """Each call might take as long as its deadline."""
        queue = FakeQueue()
        queue.error = OSError("gone")
        guarded = GuardedQueue(queue)
        for _ in range(10):
            guarded.send([Sent("run", "default")])
            guarded.receive(1, 0.001, None)
        assert [verb for verb, _ in queue.told] == ["send", "receive"]

    def test_a_stop_does_not_wait_until_it_is_called_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "REST", 600.0)
        queue = FakeQueue()
        queue.error = OSError("gone")
        guarded = GuardedQueue(queue)
        assert guarded.receive(1, 0, None) == []
        waiting = threading.Thread(target=guarded.receive, args=(1, 600, None), daemon=True)
        waiting.start()
        guarded.interrupt()
        waiting.join(10)
        assert not waiting.is_alive()
        assert [verb for verb, _ in queue.told] == ["receive", "interrupt"]

    def test_a_hint_is_needed_besides_for_what_no_message_stands_for(self, tmp_path: Path) -> None:
        """Namely runs that are due before every process has polled, and runs for agents."""
        queue = FakeQueue()
        guarded = GuardedQueue(queue)
        with Workbell(f"sqlite:///{tmp_path}/x.db") as bell:
            bell.job(name="work")(lambda: None)
            queued, soon, later = (bell.enqueue("work", delay=delay) for delay in (0, 60, 60.001))
        for_agent = msgspec.structs.replace(queued, lane=msgspec.structs.replace(queued.lane, target="agent"))
        assert guarded.announce_all([queued, later])
        assert queue.told == [("send", 1)]
        assert guarded.announce_all([later])
        assert not guarded.announce_all([soon])
        assert not guarded.announce_all([for_agent])
        assert not guarded.announce_all([queued, soon, later])
        assert queue.told == [("send", 1), ("send", 1)]
        queue.error = OSError("gone")
        assert not guarded.announce_all([queued])
