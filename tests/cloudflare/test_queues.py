"""Cloudflare Queues as the queue: pulled by workers over a stand-in of the REST API, and pushed by the shipped Worker.

The queue itself is miniflare's; that it is pulled over HTTP does not exist there, so queue_front.mjs stands in.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from tests.cloudflare.miniflare import TOKEN, Miniflare, QueueServer
from tests.support.served import Served, served
from tests.support.waiting import until
from workbell import Context, QueueUnavailable, Status, Workbell
from workbell.engine import one_shot
from workbell.queues import cloudflare
from workbell.queues.cloudflare import CloudflareQueue, open_url
from workbell.queues.port import Sent
from workbell.settings import Settings
from workbell.testing.contracts.queue import Connect, QueueContract
from workbell.testing.sqlite_files import SqliteFiles

PATIENCE = 60


@pytest.fixture(autouse=True)
def _api_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cloudflare.TOKEN, TOKEN)
    monkeypatch.setattr(cloudflare, "PACE", 0.05)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QueueServer]:
    server = QueueServer(tmp_path_factory.mktemp("queue"))
    yield server
    server.stop()


@pytest.fixture
def queue(server: QueueServer) -> Iterator[QueueServer]:
    """Sound and empty."""
    server.do("fault", {})
    yield server
    server.do("fault", {})
    until(lambda: server.do("seen")["pushed"] >= server.do("seen")["queued"], "messages that are on their way")
    server.do("empty")


@pytest.fixture
def open_bell(tmp_path: Path, sqlite_files: SqliteFiles) -> Iterator[Callable[..., Workbell]]:
    url = sqlite_files.make(tmp_path / "x.db")
    opened: list[Workbell] = []

    def open_one(queue_url: str, poll: float = 60.0) -> Workbell:
        opened.append(Workbell(settings=Settings(url=url, queue_url=queue_url, poll=poll, http_port=0)))
        return opened[-1]

    yield open_one
    for bell in opened:
        bell.close()


class TestContract(QueueContract):
    @pytest.fixture
    def connect(self, queue: QueueServer) -> Iterator[Connect]:
        opened: list[CloudflareQueue] = []

        def connect() -> CloudflareQueue:
            api = f"{queue.base}/client/v4"
            opened.append(CloudflareQueue("account", "runs", TOKEN, api, loopback=True, pace=0.05))
            return opened[-1]

        yield connect
        for each in opened:
            each.close()


class TestPull:
    @pytest.mark.parametrize("fault", [None, "double", "late", "lost"])
    def test_every_run_is_executed_once(
        self, queue: QueueServer, open_bell: Callable[..., Workbell], fault: str | None
    ) -> None:
        """D7: whatever happens to messages, the store is the truth; what is lost is found by the next poll."""
        counted: Counter[str] = Counter()
        if fault is not None:
            queue.do("fault", {"kind": fault, "every": 2})
        bell = open_bell(queue.url(), poll=1.0 if fault == "lost" else 60.0)
        _declare(bell, counted)

        async def work() -> None:
            async with bell.running():
                runs = [await bell.aenqueue("count") for _ in range(20)]
                for run in runs:
                    assert (await bell.await_(run.id, timeout=PATIENCE)).status is Status.SUCCEEDED

        asyncio.run(work())
        assert set(counted.values()) == {1}
        assert len(counted) == 20

    def test_the_queue_is_emptied(self, queue: QueueServer, open_bell: Callable[..., Workbell]) -> None:
        counted: Counter[str] = Counter()
        bell = open_bell(queue.url(), poll=0.5)
        _declare(bell, counted)
        runs = bell.enqueue_many([("count", {})] * 120)
        assert queue.do("seen")["sent"] >= 120
        queue.do("empty")

        async def work() -> None:
            async with bell.running():
                for run in runs:
                    await bell.await_(run.id, timeout=PATIENCE)

        asyncio.run(work())
        assert set(counted.values()) == {1}

    def test_a_store_without_hints(self, queue: QueueServer, miniflare: Miniflare) -> None:
        """On D1 a message wakes the worker; otherwise the run would wait for the next poll."""
        settings = Settings(url=miniflare.url(), queue_url=queue.url(), poll=300)
        counted: Counter[str] = Counter()
        with Workbell(settings=settings) as bell, Workbell(settings=settings) as other:
            _declare(bell, counted)

            async def work() -> None:
                async with bell.running():
                    for _ in range(3):
                        run = await other.aenqueue("count")
                        assert (await other.await_(run.id, timeout=PATIENCE)).status is Status.SUCCEEDED

            asyncio.run(work())
        assert len(counted) == 3

    def test_messages_of_others_are_left(self, queue: QueueServer, caplog: pytest.LogCaptureFixture) -> None:
        """An unknown version is refused, told, and not acknowledged; those beside it are received."""
        mine = open_url(queue.url())
        before = queue.do("seen")
        queue.do("raw", [{"version": 2, "run": "a"}, {"kumofireJobRunId": "b"}, {"run": "c"}, "text", {"x": 1}])
        found: list[str | None] = []
        with caplog.at_level(logging.WARNING, "workbell.queues"):
            until(lambda: found.extend(one.run for one in mine.receive(10, 0.1, None)) or len(found) == 2, "both", 30)
            until(lambda: queue.do("seen")["pulled"] - before["pulled"] == 5 or mine.receive(10, 0.1, None), "all", 30)
        assert sorted(map(str, found)) == ["b", "c"]
        assert "version 2, and this Workbell reads 1; update Workbell" in caplog.text or "cannot be read" in caplog.text
        assert queue.do("seen")["acked"] == before["acked"]
        mine.close()

    def test_an_id_instead_of_a_name(self, queue: QueueServer) -> None:
        mine = open_url(queue.url("0123456789abcdef0123456789abcdef"))
        mine.send([Sent("x", "default")])
        assert until(lambda: mine.receive(1, 0.2, None), "it", 30)[0].run == "x"
        mine.close()


class TestRefusals:
    def test_a_wrong_token(self, queue: QueueServer, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(cloudflare.TOKEN, "wrong")
        said = r"refuses the token for account account \(HTTP 401: Authentication error \(code 10000\)\); set WORKB"
        with pytest.raises(QueueUnavailable, match=said) as caught:
            open_url(queue.url()).send([Sent("x", "default")])
        assert "wrong" not in str(caught.value)

    def test_an_account_without_queues(self, queue: QueueServer) -> None:
        with pytest.raises(QueueUnavailable, match=r"not enabled on this account \(code 10023\).*has Queues"):
            open_url(queue.url(account="other")).send([Sent("x", "default")])

    def test_no_such_queue(self, queue: QueueServer) -> None:
        with pytest.raises(QueueUnavailable, match="has no queue 'nothing'; make it: npx wrangler queues create"):
            open_url(queue.url("nothing")).receive(1, 0, None)
        with pytest.raises(QueueUnavailable, match=r"queue not found \(code 11000\).*consumer http add"):
            open_url(queue.url("f" * 32)).receive(1, 0, None)

    def test_who_enqueues_never_sees_it(
        self, queue: QueueServer, open_bell: Callable[..., Workbell], caplog: pytest.LogCaptureFixture
    ) -> None:
        queue.do("fault", {"kind": "down"})
        bell = open_bell(queue.url(), poll=0.2)
        counted: Counter[str] = Counter()
        _declare(bell, counted)
        with caplog.at_level(logging.WARNING, "workbell.queues"):
            run = bell.enqueue("count")

            async def work() -> None:
                async with bell.running():
                    await bell.await_(run.id, timeout=PATIENCE)

            asyncio.run(work())
        assert "the queue cannot send" in caplog.text
        assert TOKEN not in caplog.text
        assert counted == {run.id: 1}


class Pushed:
    """A service that executes runs, and a queue that pushes to it."""

    def __init__(self, bell: Workbell, queue: QueueServer, service: Served, counted: Counter[str]) -> None:
        self.bell = bell
        self.queue = queue
        self.service = service
        self.counted = counted

    def enqueue_silently(self) -> str:
        """A run whose own message is lost."""
        self.queue.do("fault", {"kind": "lost", "every": 1})
        run = self.bell.enqueue("count")
        self.queue.do("fault", {})
        return run.id

    def ended(self, run_id: str) -> Status:
        return until(lambda: (found := self.bell.get(run_id)).status.final and found.status, run_id, PATIENCE)


@contextmanager
def pushing(url: str, folder: Path) -> Iterator[Pushed]:
    counted: Counter[str] = Counter()
    with Workbell(settings=Settings(url=url, http_port=0)) as executing, served(executing) as service:
        _declare(executing, counted)
        token = executing.tokens.create("cloudflare", scopes=["consume", "dispatch"], tenant="*").text
        queue = QueueServer(folder, SERVICE=service.url, SERVICE_TOKEN=token)
        try:
            with Workbell(settings=Settings(url=url, queue_url=queue.url())) as bell:
                _declare(bell, Counter())
                yield Pushed(bell, queue, service, counted)
        finally:
            queue.stop()


@pytest.fixture
def pushed(tmp_path: Path, sqlite_files: SqliteFiles) -> Iterator[Pushed]:
    with pushing(sqlite_files.make(tmp_path / "x.db"), tmp_path) as pushed:
        yield pushed


def test_all_at_cloudflare_but_the_handlers(tmp_path: Path, miniflare: Miniflare) -> None:
    """D1 as the store, a queue that pushes, a cron trigger: no process of ours runs all the time but the server."""
    with pushing(miniflare.url(), tmp_path) as pushed:
        runs = pushed.bell.enqueue_many([("count", {})] * 10)
        assert [pushed.ended(run.id) for run in runs] == [Status.SUCCEEDED] * 10
        pushed.queue.do("cron")
        assert set(pushed.counted.values()) == {1}


class TestPush:
    """No worker is there: the queue pushes, the service executes."""

    def test_runs_are_executed(self, pushed: Pushed) -> None:
        runs = pushed.bell.enqueue_many([("count", {})] * 30)
        queue = pushed.queue
        assert [pushed.ended(run.id) for run in runs] == [Status.SUCCEEDED] * 30
        queue.do("raw", [{"version": 1, "run": runs[0].id}] * 3 + [{"run": "nonsense"}])  # doubled, and of nobody
        late = pushed.bell.enqueue("count", delay=1)
        until(lambda: pushed.bell.get(late.id).scheduled_for <= pushed.bell.store.clock.now(), "its time", 30)
        queue.do("cron")  # the service has no queue beside its store: it queues, and whoever dispatches with one sends
        assert pushed.bell.get(late.id).status is Status.QUEUED
        queue.do("raw", [{"kumofireJobRunId": late.id}])
        assert pushed.ended(late.id) is Status.SUCCEEDED
        assert set(pushed.counted.values()) == {1}

    def test_a_lost_message_is_sent_again(self, pushed: Pushed, monkeypatch: pytest.MonkeyPatch) -> None:
        """D11."""
        run = pushed.enqueue_silently()
        monkeypatch.setattr(one_shot, "SEND_AGAIN", one_shot.SEND_AGAIN * 0)
        assert pushed.bell.dispatch().sent == 1
        assert pushed.ended(run) is Status.SUCCEEDED

    def test_what_must_wait_is_delivered_again(self, pushed: Pushed) -> None:
        pushed.bell.pause(job="count")
        run = pushed.bell.enqueue("count")
        until(lambda: pushed.queue.do("seen")["retried"] == 1, "the message, sent back", PATIENCE)
        delayed = pushed.bell.enqueue("count", delay=2, queue="other")
        pushed.bell.resume(job="count")
        pushed.queue.do("raw", [{"run": delayed.id}])  # too early: it is to be delivered again in 5 s
        until(lambda: pushed.bell.get(delayed.id).scheduled_for <= pushed.bell.store.clock.now(), "its time", 30)
        pushed.queue.do("cron")
        assert pushed.ended(delayed.id) is Status.SUCCEEDED
        assert pushed.bell.get(run.id).status is Status.QUEUED, "paused: not before a minute"
        assert pushed.queue.do("seen")["retried"] == 2

    def test_an_unknown_version_is_not_acknowledged(self, pushed: Pushed) -> None:
        """It is delivered again, until somebody knows it; those beside it are executed."""
        run, other = pushed.enqueue_silently(), pushed.enqueue_silently()
        pushed.queue.do("raw", [{"version": 2, "run": run}, {"x": 1}, {"version": 1, "run": other}])
        assert pushed.ended(other) is Status.SUCCEEDED
        seen = until(lambda: (counts := pushed.queue.do("seen"))["retried"] == 2 and counts, "the others", PATIENCE)
        assert seen["acked"] == 1
        assert pushed.bell.get(run).status is Status.QUEUED
        pushed.queue.do("raw", [{"version": 1, "run": run}])
        assert pushed.ended(run) is Status.SUCCEEDED

    @pytest.mark.parametrize("env", [{"SERVICE_TOKEN": "wb_wrong"}, {"SERVICE_TOKEN": ""}, {"SERVICE": "http://x.y"}])
    def test_a_wrong_setting_loses_nothing(self, pushed: Pushed, env: dict[str, str]) -> None:
        pushed.queue.do("fault", {"env": env})
        run = pushed.bell.enqueue("count")
        until(lambda: pushed.queue.do("seen")["retried"] == 1, "the message", PATIENCE)
        assert pushed.bell.get(run.id).status is Status.QUEUED
        with pytest.raises(httpx2.HTTPStatusError, match="500"):
            pushed.queue.do("cron")
        pushed.queue.do("fault", {})
        pushed.queue.do("raw", [{"run": run.id}])
        assert pushed.ended(run.id) is Status.SUCCEEDED
        assert pushed.queue.do("seen")["acked"] == 1

    def test_the_service_is_away(self, pushed: Pushed) -> None:
        pushed.queue.do("fault", {"env": {"SERVICE": "http://127.0.0.1:9"}})
        run = pushed.bell.enqueue("count")
        until(lambda: pushed.queue.do("seen")["retried"] == 1, "the message", PATIENCE)
        assert pushed.bell.get(run.id).status is Status.QUEUED


def _declare(bell: Workbell, counted: Counter[str]) -> None:
    @bell.job
    async def count(ctx: Context) -> None:
        counted[ctx.run.id] += 1

    @bell.job
    def wait() -> None: ...
