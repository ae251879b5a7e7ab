"""Handlers that tell, in a real engine: everything is there when the run has ended (F6)."""

from __future__ import annotations

import asyncio
import threading

import pytest

from tests.support.fresh_store import fresh_store
from tests.support.waiting import until
from workbell import Context, InvalidOption, LeaseLost, Retry, Snooze, Status, Workbell
from workbell.handlers.context import detached
from workbell.settings import Settings
from workbell.stores.port import Store
from workbell.testing.contracts.making import after
from workbell.testing.contracts.making import claim as claim_at

pytestmark = pytest.mark.anyio


@pytest.fixture
def bell(store: Store) -> Workbell:
    return Workbell(store=store, settings=Settings(poll=0.02, grace=5))


async def lines_of(bell: Workbell, run_id: str) -> list[tuple[int, int, str, str]]:
    return [(line.attempt, line.line, line.level, line.message) for line in await bell.alogs(run_id)]


async def test_lines_and_progress_of_plain_and_async_handlers(bell: Workbell) -> None:
    @bell.job
    def plain(ctx: Context) -> None:
        for number in range(50):
            ctx.progress(number + 1, 50, f"number {number}")
        ctx.logger.info("all %d", 50)

    @bell.job
    async def on_loop(ctx: Context) -> None:
        ctx.logger.warning("careful")
        for number in range(50):
            ctx.progress(number + 1, 50)

    async with bell.running():
        one = await bell.await_((await plain.aenqueue()).id, timeout=30)
        two = await bell.await_((await on_loop.aenqueue()).id, timeout=30)
        assert one.progress == {"done": 50, "total": 50, "message": "number 49"}
        assert two.progress == {"done": 50, "total": 50, "message": None}
        assert await lines_of(bell, one.id) == [(1, 0, "INFO", "all 50")]
        assert await lines_of(bell, two.id) == [(1, 0, "WARNING", "careful")]


async def test_the_lines_of_every_attempt_are_kept(bell: Workbell) -> None:
    """Also of one that is repeated at once, under another lease."""

    @bell.job(retry=Retry(attempts=3, delay=0))
    def flaky(ctx: Context) -> object:
        ctx.logger.info("try %d", ctx.run.attempt)
        if ctx.run.attempt == 1:
            raise ValueError("no")
        return Snooze(0) if ctx.run.attempt == 2 else None

    async with bell.running():
        run = await bell.await_((await flaky.aenqueue()).id, timeout=30)
        assert run.status is Status.SUCCEEDED
        assert await lines_of(bell, run.id) == [(n, 0, "INFO", f"try {n}") for n in (1, 2, 3)]


async def test_they_can_be_seen_while_the_handler_works(bell: Workbell) -> None:
    gate = threading.Event()

    @bell.job
    def slow(ctx: Context) -> None:
        ctx.logger.info("begun")
        ctx.progress(1, 3)
        ctx.progress(2, 3)
        assert gate.wait(30)

    async with bell.running():
        run = await slow.aenqueue()
        try:
            await asyncio.to_thread(until, lambda: bell.logs(run.id), "the line")
            await asyncio.to_thread(until, lambda: (bell.get(run.id).progress or {}).get("done") == 2, "the progress")
        finally:
            gate.set()
        await bell.await_(run.id, timeout=30)


async def test_a_handler_that_is_cut_off_leaves_its_lines(bell: Workbell) -> None:
    @bell.job
    async def endless(ctx: Context) -> None:
        ctx.logger.info("begun")
        ctx.progress(1)
        begun.set()
        await asyncio.Event().wait()

    begun = asyncio.Event()
    bell.settings = Settings(poll=0.02, grace=0)
    async with bell.running():
        run = await endless.aenqueue()
        await asyncio.wait_for(begun.wait(), 30)
    assert (await bell.aget(run.id)).status is Status.QUEUED
    assert await lines_of(bell, run.id) == [(1, 0, "INFO", "begun")]


async def test_progress_of_a_run_that_is_anothers(store: Store) -> None:
    bell = Workbell(store=store, settings=Settings(poll=0.02, grace=5, lease=600, concurrency=1))
    taken = threading.Event()
    raised: list[BaseException] = []

    @bell.job(retry=Retry(attempts=1))
    def slow(ctx: Context) -> None:
        begun.set()
        assert taken.wait(30)
        try:
            until(lambda: ctx.progress(1), "the lease to be known as lost")
        except LeaseLost as error:
            raised.append(error)
        ctx.logger.info("too late")

    begun = threading.Event()
    async with bell.running():
        run = await slow.aenqueue()
        assert await asyncio.to_thread(begun.wait, 30)
        held = await bell.aget(run.id)
        from workbell.model import state

        now = store.clock.now()
        assert store.runs.apply([state.release(held, now)]) == {run.id}
        claim_at(store, at=(now - after(0)).total_seconds(), worker="another", lease=600)
        taken.set()
        await asyncio.to_thread(until, lambda: raised, "the error")
    assert "another worker holds it now" in str(raised[0])
    assert await lines_of(bell, run.id) == [], "nor are its lines taken"


@pytest.mark.parametrize("wrong", [-1, float("nan"), float("inf"), "3", None, True, 2**70])
async def test_progress_that_is_no_amount(wrong: object) -> None:
    bell = Workbell(store=fresh_store())
    context = detached("work", "default", bell._services)
    with pytest.raises(InvalidOption, match="progress: done must be a number from 0 on"):
        context.progress(wrong)  # type: ignore[arg-type]
    if wrong is not None:
        with pytest.raises(InvalidOption, match="progress: total must be"):
            context.progress(1, wrong)  # type: ignore[arg-type]


async def test_any_other_amount_is_told() -> None:
    context = detached("work", "default", Workbell(store=fresh_store())._services)
    context.progress(0)
    context.progress(7, 3, "more than expected")
    context.progress(0.5, 1, "x" * 10_000 + "\x00\ud800")
