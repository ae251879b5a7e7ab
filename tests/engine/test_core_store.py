"""An engine on a store that has the core alone: jobs, retries, schedules, limits, cancel and wait go on as ever."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from workbell import Context, Retry, Status, Workbell
from workbell.cli.main import workbell
from workbell.errors import StoreError
from workbell.settings import Settings

pytestmark = pytest.mark.anyio


@pytest.fixture
def bell(caplog: pytest.LogCaptureFixture) -> Iterator[Workbell]:
    with Workbell(settings=Settings(url="memory://", lease=0.5, poll=0.02, grace=5)) as bell:
        yield bell
    trouble = [one for one in caplog.get_records("call") if one.levelno >= logging.WARNING]
    assert [one.getMessage() for one in trouble if one.name != "workbell.runs"] == [], "a duty missed a part"


async def test_a_job_is_tried_again_and_waited_for(bell: Workbell) -> None:
    @bell.job(retry=Retry(attempts=2, delay=0.01))
    def flaky(ctx: Context) -> str:
        ctx.logger.info("a line that nobody keeps")
        if ctx.run.attempt == 1:
            raise ValueError("not yet")
        return "done"

    async with bell.running():
        run = await bell.await_((await flaky.aenqueue()).id, timeout=30)
    assert (run.status, run.result) == (Status.SUCCEEDED, "done")
    assert [attempt.error for attempt in bell.attempts(run.id)][1:] == [None]
    assert bell.runs(job="flaky") == [run]


async def test_one_round_at_a_time(bell: Workbell) -> None:
    @bell.job(cron="* * * * *")
    def work() -> None: ...

    run = await work.aenqueue()
    await bell.adispatch()
    assert [(one.run, one.status) for one in (await bell.aconsume()).results] == [(run.id, Status.SUCCEEDED)]


async def test_a_running_job_is_canceled(bell: Workbell) -> None:
    begun = asyncio.Event()

    @bell.job
    async def endless() -> None:
        begun.set()
        await asyncio.Event().wait()

    async with bell.running():
        run = await endless.aenqueue()
        await asyncio.wait_for(begun.wait(), 30)
        await bell.acancel(run.id)
        ended = await bell.await_(run.id, timeout=30)
    assert ended.status is Status.CANCELED


async def test_a_schedule_fires(bell: Workbell) -> None:
    fired = asyncio.Event()

    @bell.job(every=1)
    async def tick() -> None:
        fired.set()

    async with bell.running():
        await asyncio.wait_for(fired.wait(), 30)
    assert bell.schedules.ticks("tick")


async def test_a_limit_is_kept(bell: Workbell) -> None:
    at_once, most = 0, 0

    @bell.job(concurrency=1)
    async def alone() -> None:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0)
        at_once -= 1

    async with bell.running(concurrency=4):
        for run in await bell.aenqueue_many([alone.request() for _ in range(8)]):
            await bell.await_(run.id, timeout=30)
    assert most == 1


async def test_what_needs_another_part_says_so(bell: Workbell) -> None:
    with pytest.raises(StoreError) as caught:
        bell.emit("posts.created", {})
    assert str(caught.value) == (
        "memory:// keeps runs, schedules and jobs only; events need an SQL store: "
        "sqlite:///workbell.db or postgresql://host/database."
    )
    with pytest.raises(StoreError, match=r"pauses need an SQL store"):
        bell.pause(queue="mail")


async def test_a_job_with_a_trigger_says_at_the_start_what_it_needs(bell: Workbell) -> None:
    @bell.on("posts.created")
    def index(event: Any) -> None: ...

    with pytest.raises(StoreError, match=r"triggers and webhooks need an SQL store"):
        async with bell.running():
            pass


def test_the_doctor_looks_at_it(capsys: pytest.CaptureFixture[str]) -> None:
    workbell(["doctor", "--url", "memory://"], standalone_mode=False)
    assert "runs are gone when this process ends" in capsys.readouterr().out
