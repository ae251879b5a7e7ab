"""Workbell with a Redis queue: what wakes whom, and what the trouble of Redis costs."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis

from tests.support.command_line import command, environment
from tests.support.deaf import Deaf
from tests.support.redis_server import RedisServer
from tests.support.waiting import until
from workbell import Retry, Status, Workbell
from workbell.model.run import Run
from workbell.settings import POLL_WITH_QUEUE, Settings
from workbell.stores.sql_store import SqlStore

pytestmark = pytest.mark.anyio

NEVER = 60.0  # seconds between polls: the tests are over before

Open = Callable[..., Workbell]


@pytest.fixture
def deaf(monkeypatch: pytest.MonkeyPatch) -> None:
    """No hint of the store comes to help."""
    monkeypatch.setattr(SqlStore, "watch", lambda _store: Deaf())


@pytest.fixture
def open_bell(sql_store_url: str, redis_server: RedisServer) -> Iterator[Open]:
    opened: list[Workbell] = []

    def open_bell(poll: float | None = NEVER, queue_url: str | None = None) -> Workbell:
        settings = Settings(url=sql_store_url, queue_url=queue_url or redis_server.url(), poll=poll)
        opened.append(Workbell(settings=settings))
        return opened[-1]

    yield open_bell
    for bell in opened:
        bell.close()


def declare(bell: Workbell, seen: list[str] | None = None) -> None:
    noted = [] if seen is None else seen

    @bell.job
    def work(word: str = "") -> str:
        noted.append(word)
        return word

    @bell.job(concurrency=1)
    async def limited() -> None:
        await asyncio.sleep(0.01)

    @bell.job(retry=Retry(attempts=3, delay=0, jitter=0))
    def fails_once(bad: bool = True) -> None:
        noted.append("try")
        if len(noted) < 2:
            raise ValueError("the first try")


async def ended(bell: Workbell, run: Run) -> Status:
    return (await bell.await_(run.id, timeout=30)).status


class TestPermits:
    """No poll comes to help: all of it is woken."""

    @pytest.mark.usefixtures("deaf")
    async def test_a_run_starts_at_once(self, open_bell: Open) -> None:
        worker, client = open_bell(), open_bell()
        declare(worker)
        async with worker.running():
            for _ in range(5):
                assert await ended(client, await client.aenqueue("work")) is Status.SUCCEEDED
            assert await ended(client, await client.aenqueue("work", queue="other")) is Status.SUCCEEDED

    @pytest.mark.usefixtures("deaf")
    async def test_more_runs_than_slots(self, open_bell: Open) -> None:
        worker, client = open_bell(), open_bell()
        declare(worker)
        async with worker.running(concurrency=2):
            runs = await client.aenqueue_many([("work", {"word": str(number)}) for number in range(50)])
            assert {await ended(client, run) for run in runs} == {Status.SUCCEEDED}

    @pytest.mark.usefixtures("deaf")
    async def test_runs_of_a_limited_job(self, open_bell: Open) -> None:
        worker, client = open_bell(), open_bell()
        declare(worker)
        async with worker.running(concurrency=8):
            runs = [await client.aenqueue("limited") for _ in range(8)]
            assert {await ended(client, run) for run in runs} == {Status.SUCCEEDED}

    @pytest.mark.usefixtures("deaf")
    async def test_a_retry_without_a_delay(self, open_bell: Open) -> None:
        worker, client = open_bell(), open_bell()
        declare(worker)
        async with worker.running():
            assert await ended(client, await client.aenqueue("fails_once")) is Status.SUCCEEDED

    async def test_a_run_with_a_delay(self, open_bell: Open) -> None:
        worker, client = open_bell(), open_bell()
        declare(worker)
        async with worker.running():
            assert await ended(client, await client.aenqueue("work", delay=0.3)) is Status.SUCCEEDED

    async def test_a_pause_and_its_end(self, open_bell: Open) -> None:
        seen: list[str] = []
        worker, client = open_bell(), open_bell()
        declare(worker, seen)
        async with worker.running():
            await ended(client, await client.aenqueue("work", {"word": "before"}))
            await client.apause(job="work")
            await asyncio.sleep(0.3)  # its hint has been followed: then the permit is all that comes
            held = await client.aenqueue("work", {"word": "held"})
            await asyncio.sleep(0.5)
            assert seen == ["before"], "its lane is known, and its permit names the run"
            await client.aresume(job="work")
            assert await ended(client, held) is Status.SUCCEEDED

    @pytest.mark.usefixtures("deaf")
    async def test_what_a_stopping_worker_hands_back_goes_to_another(self, open_bell: Open) -> None:
        first, second, client = open_bell(), open_bell(), open_bell()
        begun = asyncio.Event()
        seen: list[str] = []

        @first.job(name="work")
        async def stuck(word: str) -> None:
            begun.set()
            await asyncio.Event().wait()

        declare(second, seen)
        async with first.running():
            run = await client.aenqueue("work", {"word": "handed on"})
            await asyncio.wait_for(begun.wait(), 30)
            async with second.running():
                await asyncio.to_thread(first.shut_down, 0)
                assert await ended(client, run) is Status.SUCCEEDED
        assert seen == ["handed on"]


class TestTrouble:
    @pytest.mark.usefixtures("deaf")
    async def test_lost_messages_cost_at_most_a_poll(self, open_bell: Open) -> None:
        worker, client = open_bell(poll=None), open_bell(poll=None)
        declare(worker)
        async with worker.running():
            await ended(client, await client.aenqueue("work"))
            for word in ("a", "b"):
                client.store.runs.add([client.request("work", {"word": word}).new], hint=False)  # and nothing is sent
            began = time.monotonic()
            until(lambda: not client.runs(status=[Status.QUEUED], limit=1), "the runs to be found")
            assert time.monotonic() - began < POLL_WITH_QUEUE + 1

    @pytest.mark.parametrize("url", ["redis://:secret@127.0.0.1:1/0", "redis://:wrong@{place}/0"])
    async def test_one_that_cannot_be_used(self, url: str, open_bell: Open, caplog: pytest.LogCaptureFixture) -> None:
        """The store's hints do its work; nobody who enqueues gets the error, and it is logged once."""
        server = RedisServer("--requirepass", "right").start()
        queue_url = url.replace("{place}", f"127.0.0.1:{server.port}")
        worker, client = open_bell(queue_url=queue_url), open_bell(queue_url=queue_url)
        declare(worker)
        with caplog.at_level(logging.WARNING, "workbell.queues"):
            async with worker.running():
                for _ in range(5):
                    assert await ended(client, await client.aenqueue("work")) is Status.SUCCEEDED
        server.remove()
        warned = [record.getMessage() for record in caplog.records if record.name == "workbell.queues"]
        assert 1 <= len([text for text in warned if "cannot send" in text]) <= 1
        assert all("correct queue_url" in text for text in warned)
        assert not any("secret" in text or "wrong" in text for text in warned)

    @pytest.mark.usefixtures("deaf")
    async def test_garbage_and_a_later_version_in_the_list(
        self, open_bell: Open, redis_server: RedisServer, caplog: pytest.LogCaptureFixture
    ) -> None:
        worker, client = open_bell(), open_bell()
        declare(worker)
        key = f"workbell:{{{client.store.identity()}}}:queue:default"
        with caplog.at_level(logging.WARNING, "workbell.queues"):
            async with worker.running():
                await ended(client, await client.aenqueue("work"))
                run = client.request("work").new
                client.store.runs.add([run], hint=False)
                redis.Redis(port=redis_server.port).rpush(key, "garbage", '{"version": 2, "run": "x"}')
                assert await ended(client, run.run) is Status.SUCCEEDED, "a message that cannot be read wakes, too"
                assert await ended(client, await client.aenqueue("work")) is Status.SUCCEEDED
        warned = [record.getMessage() for record in caplog.records]
        assert any("cannot be read" in text for text in warned)
        assert any("has version 2" in text for text in warned)


class TestDoctor:
    def examine(self, url: str, queue_url: str, folder: Path) -> tuple[int, dict[str, str]]:
        done = subprocess.run(
            command("doctor", "--url", url, "--json"),
            cwd=folder,
            env=environment(WORKBELL_QUEUE_URL=queue_url),
            capture_output=True,
            text=True,
        )
        (finding,) = [one for one in json.loads(done.stdout)["findings"] if one["what"] == "queue"]
        assert "secret" not in done.stdout + done.stderr
        return done.returncode, finding

    def test_which_queue_and_whether_it_answers(
        self, sqlite_url: str, redis_server: RedisServer, tmp_path: Path
    ) -> None:
        code, finding = self.examine(sqlite_url, redis_server.url(), tmp_path)
        assert code == 0
        assert finding["text"].startswith("Redis ") or finding["text"].startswith("Valkey ")
        assert f"at 127.0.0.1:{redis_server.port}/0 answers" in finding["text"]
        code, finding = self.examine(sqlite_url, "redis://:secret@127.0.0.1:1/0", tmp_path)
        assert (code, finding["level"]) == (1, "risk")
        assert finding["remedy"] == "start it, or correct queue_url."
        assert self.examine(sqlite_url, "store://", tmp_path)[1]["text"] == "the store's own hints wake workers"
