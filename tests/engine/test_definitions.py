"""Definitions in engines that run: a worker with the handler serves them, under their own limits and retries (D2)."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path

import pytest

from tests.support.receiver import receiving
from tests.support.waiting import until
from workbell import Answer, Context, Run, Status, Workbell
from workbell.engine.consume import limits, serves
from workbell.errors import StoreUnavailable
from workbell.model.run import Lane
from workbell.settings import Settings, load

FILE = """
schedule = "0 3 1 1 *"

def run(ctx, to="all", region="us"):
    return [ctx.run.job, to, region]
"""
pytestmark = pytest.mark.anyio


def served(url: str, **settings: object) -> Workbell:
    return Workbell(settings=Settings(url=url, poll=0.2, **settings))  # type: ignore[arg-type]


async def test_a_worker_with_the_handler_serves_its_definitions(store_url: str) -> None:
    """Also one that was made by another process after the worker had started; the context has the run's job."""
    with served(store_url) as worker, served(store_url) as web:

        @worker.job
        def email(ctx: Context, to: str, region: str = "us") -> list[str]:
            return [ctx.run.job, to, region]

        async with worker.running():
            web.jobs.put("email-eu", handler="email", input={"region": "eu"})
            run = await web.await_(web.enqueue("email-eu", {"to": "a"}).id, timeout=30)
            assert run.result == ["email-eu", "a", "eu"]
            web.jobs.put("email-eu", handler="email", input={"region": "at"})
            run = await web.await_(web.enqueue("email-eu", {"to": "a"}).id, timeout=30)
            assert run.result == ["email-eu", "a", "at"]


async def test_a_disabled_one_waits_and_goes_on(store_url: str) -> None:
    with served(store_url) as worker, served(store_url) as web:

        @worker.job
        def email(to: str) -> str:
            return to

        web.jobs.put("email-eu", handler="email")
        run = web.enqueue("email-eu", {"to": "a"})
        web.jobs.disable("email-eu")
        async with worker.running():
            assert (await worker.await_(worker.enqueue("email", {"to": "b"}).id, timeout=30)).result == "b"
            assert web.get(run.id).status is Status.QUEUED
            assert "is disabled" in web.why(run.id)
            web.jobs.enable("email-eu")
            assert (await web.await_(run.id, timeout=30)).result == "a"


async def test_timeouts_retries_and_alerts_are_those_of_the_definition(store_url: str) -> None:
    async with receiving() as receiver:
        with served(store_url, webhook_allow=("127.0.0.0/8",)) as worker:

            @worker.job(timeout=60, retry=9)
            async def email(to: str) -> None:
                await asyncio.sleep(60)

            url = f"http://127.0.0.1:{receiver.port}/alert"
            worker.jobs.put("email-eu", handler="email", timeout=0.1, retry=1, alert_url=url)
            async with worker.running():
                run = await worker.await_(worker.enqueue("email-eu", {"to": "a"}).id, timeout=30)
                assert (run.status, run.reason, run.attempt) == (Status.FAILED, "timeout", 1)
                await asyncio.to_thread(until, lambda: receiver.requests)


async def test_limits_are_those_of_the_definition(store_url: str) -> None:
    """Two of it at a time, over two workers, while the job of the code has no limit."""
    lock, running, most = threading.Lock(), 0, 0

    def work(number: int) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.05)
        with lock:
            running -= 1

    with served(store_url, concurrency=8) as one, served(store_url, concurrency=8) as two:
        for bell in (one, two):
            bell.job(name="work")(work)
        one.jobs.put("two-at-once", handler="work", concurrency=2)
        runs = one.enqueue_many([("two-at-once", {"number": number}) for number in range(12)])
        async with one.running(), two.running():
            for run in runs:
                assert (await one.await_(run.id, timeout=60)).status is Status.SUCCEEDED
    assert most == 2


def test_a_worker_asks_for_definitions_only_about_jobs_it_does_not_know(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(store_url) as bell:

        @bell.job
        def email(to: str) -> None: ...

        bell.store.check()
        asked: list[int] = []
        real = bell.store.definitions.version
        monkeypatch.setattr(bell.store.definitions, "version", lambda: (asked.append(1), real())[1])
        takes, limited = serves(bell.registry, ["default"]), limits(bell.registry)
        own, foreign = Lane("default", "default", "email"), Lane("default", "default", "strange")
        assert takes(own)
        assert limited(own) == ()
        assert not takes(Lane("default", "other", "strange"))
        assert asked == []
        for _ in range(100):
            assert not takes(foreign)
        assert len(asked) == 1  # once a second
        bell.jobs.put("strange", handler="email", concurrency=3)
        assert takes(foreign)
        assert [limit.concurrency for limit in limited(foreign)] == [3]
        bell.jobs.disable("strange")
        assert not takes(foreign)


async def test_a_job_file_has_definitions_too(store_url: str, tmp_path: Path) -> None:
    folder = tmp_path / "jobs"
    folder.mkdir()
    (folder / "email.py").write_text(FILE)
    (tmp_path / "workbell.toml").write_text('timezone = "UTC"\n')
    settings = load({"url": store_url}, environment={}, file=tmp_path / "workbell.toml")
    with Workbell(settings=settings) as bell:
        async with bell.running():
            bell.jobs.put("email-eu", handler="email", input={"region": "eu"})
            run = await bell.await_(bell.enqueue("email-eu", {"to": "a"}).id, timeout=30)
            assert run.result == ["email-eu", "a", "eu"]


async def test_one_shot_calls_serve_definitions(store_url: str) -> None:
    """A disabled one is left alone."""
    with served(store_url) as bell:

        @bell.job
        def email(to: str, region: str = "us") -> list[str]:
            return [to, region]

        bell.jobs.put("email-eu", handler="email", input={"region": "eu"})
        run = bell.enqueue("email-eu", {"to": "a"})
        bell.jobs.disable("email-eu")
        (left,) = (await bell.aconsume(runs=[run.id])).results
        assert (left.answer, left.reason) == (Answer.IGNORED, "job email-eu is disabled")
        bell.jobs.enable("email-eu")
        assert [one.answer for one in (await bell.aconsume(runs=[run.id])).results] == [Answer.DONE]
        assert bell.get(run.id).result == ["a", "eu"]


async def test_definitions_that_cannot_be_read_after_a_claim_cost_no_run(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The claim is written, and the store is gone for a moment: nothing may stay under a lease that nobody works on."""
    with served(store_url) as bell:

        @bell.job
        def email(to: str) -> str:
            return to

        bell.jobs.put("email-eu", handler="email")
        runs = [bell.enqueue("email", {"to": "a"}), bell.enqueue("email-eu", {"to": "b"})]
        claim, version, failed = bell.store.runs.claim, bell.store.definitions.version, threading.Event()

        def claim_then_lose(*words: object, **more: object) -> list[Run]:
            found = claim(*words, **more)  # type: ignore[arg-type]
            if any(run.job == "email-eu" for run in found) and not failed.is_set():
                bell.runtime.definitions.forget()  # as if the claim had taken a second
                monkeypatch.setattr(bell.store.definitions, "version", unavailable)
            return found

        def unavailable() -> int:
            failed.set()
            monkeypatch.setattr(bell.store.definitions, "version", version)
            raise StoreUnavailable("the store cannot be reached")

        monkeypatch.setattr(bell.store.runs, "claim", claim_then_lose)
        async with bell.running():
            ended = [await bell.await_(run.id, timeout=20) for run in runs]
        assert failed.is_set()
        assert [(run.result, run.attempt) for run in ended] == [("a", 1), ("b", 1)]


async def test_a_new_definition_is_not_left_to_the_next_poll(store_url: str) -> None:
    """Also by a worker that has just read which there are, because it met a job of others."""
    settings = Settings(url=store_url, poll=60)
    with Workbell(settings=settings) as worker, Workbell(settings=settings) as web:

        @worker.job
        def email(to: str) -> str:
            return to

        @web.job
        def foreign() -> None: ...

        async with worker.running():
            foreign.enqueue()
            await asyncio.to_thread(until, lambda: is_cached(worker))
            web.jobs.put("email-eu", handler="email")
            assert (await web.await_(web.enqueue("email-eu", {"to": "a"}).id, timeout=20)).result == "a"


def is_cached(bell: Workbell) -> bool:
    """Whether a thread of it has read definitions within the last second."""
    return bell.runtime.definitions._is_fresh(bell.store)


async def test_a_round_of_work_knows_the_definitions_of_now(store_url: str) -> None:
    """A message that comes at once after a definition was made must not be answered by what was read before."""
    with served(store_url) as server, served(store_url) as web:

        @server.job
        def email(to: str) -> str:
            return to

        await server.aconsume()
        assert server.runtime.definitions.find("default", "email-eu") is None
        web.jobs.put("email-eu", handler="email")
        run = web.enqueue("email-eu", {"to": "a"})
        assert [one.answer for one in (await server.aconsume(runs=[run.id])).results] == [Answer.DONE]
