"""Errors between a handler and its booking: the run fails with that error, and no slot is held by it."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.fresh_store import fresh_store
from tests.support.waiting import until
from tests.unit.makers import run_in
from workbell import Context, Retry, Status, Workbell
from workbell.engine.execute import book_safely
from workbell.engine.executors import AsyncSlots, ThreadSlots
from workbell.engine.work import Work
from workbell.model.clock import SystemClock
from workbell.model.outcome import HANDED_BACK, NOTHING, Failed, Outcome
from workbell.settings import Settings
from workbell.testing import drain

pytestmark = pytest.mark.anyio

ONCE = Retry(attempts=1)


@dataclass
class Unusable:
    """A policy that can be stored and cannot be asked: whatever decides about a failure raises."""

    def allows(self, *_: object) -> bool:
        raise LookupError("no policy")


@pytest.fixture
def bell() -> Iterator[Workbell]:
    with Workbell(store=fresh_store(), settings=Settings(lease=30, poll=0.02, grace=5)) as bell:
        yield bell


def break_policy(job: Any) -> None:
    job.retry = Unusable()


async def check_failed_and_slot_free(bell: Workbell, broken: Any, fine: Any) -> None:
    async with bell.running(concurrency=1):
        for _ in range(2):
            run = await bell.await_((await broken.aenqueue()).id, timeout=60)
            assert (run.status, run.reason) == (Status.FAILED, "internal")
            assert (run.error or "").startswith("LookupError: no policy")
        assert (await bell.await_((await fine.aenqueue()).id, timeout=60)).result == 1


async def test_a_plain_handler(bell: Workbell, caplog: pytest.LogCaptureFixture) -> None:
    @bell.job
    def broken() -> None:
        raise ValueError("x")

    @bell.job
    def fine() -> int:
        return 1

    break_policy(broken)
    with caplog.at_level(logging.ERROR, "workbell.engine"):
        await check_failed_and_slot_free(bell, broken, fine)
    assert len([record for record in caplog.records if "cannot be booked" in record.getMessage()]) == 2


async def test_an_async_handler(bell: Workbell) -> None:
    @bell.job
    async def broken() -> None:
        raise ValueError("x")

    @bell.job
    async def fine() -> int:
        return 1

    break_policy(broken)
    await check_failed_and_slot_free(bell, broken, fine)


async def test_a_plain_handler_whose_time_is_over(bell: Workbell) -> None:
    gate = threading.Event()

    @bell.job(timeout=0.05)
    def broken() -> None:
        gate.wait(30)

    @bell.job
    def fine() -> int:
        return 1

    break_policy(broken)
    try:
        await check_failed_and_slot_free(bell, broken, fine)
    finally:
        gate.set()


async def test_a_context_that_cannot_be_made(bell: Workbell, monkeypatch: pytest.MonkeyPatch) -> None:
    @bell.job(retry=ONCE)
    def plain(ctx: Context) -> None: ...

    @bell.job(retry=ONCE)
    async def on_loop(ctx: Context) -> None: ...

    @bell.job
    def fine() -> int:
        return 1

    def broken(_client: object, _tenant: str) -> None:
        raise LookupError("no tenant")

    monkeypatch.setattr("workbell.engine.execute.Contexts.services_of", broken)
    async with bell.running(concurrency=1):
        for job in (plain, on_loop):
            run = await bell.await_((await job.aenqueue()).id, timeout=60)  # type: ignore[attr-defined]
            assert (run.status, (run.error or "").partition("\n")[0]) == (Status.FAILED, "LookupError: no tenant")
        assert (await bell.await_((await fine.aenqueue()).id, timeout=60)).result == 1


def test_drain_fails_the_run_and_goes_on(bell: Workbell) -> None:
    @bell.job
    def broken() -> None:
        raise ValueError("x")

    break_policy(broken)
    broken.enqueue()
    broken.enqueue()
    ended = drain(bell)
    assert [(run.status, run.reason) for run in ended] == [(Status.FAILED, "internal")] * 2
    assert (ended[0].error or "").startswith("LookupError: no policy")


class TestSlots:
    """Whoever books may fail at everything: then the work is dropped, and its lease runs out."""

    def work(self, bell: Workbell, *, is_async: bool) -> Work:
        if is_async:

            @bell.job
            async def job() -> None: ...

            return Work(run_in(Status.RUNNING), job, valid_until=None)

        @bell.job
        def plain() -> None: ...

        return Work(run_in(Status.RUNNING), plain, valid_until=None)

    def test_a_second_failure_drops_the_work(self, bell: Workbell) -> None:
        work, told = self.work(bell, is_async=False), []

        def done(work: Work, outcome: Outcome) -> None:
            told.append((work.lost, outcome))
            if not work.lost:
                raise LookupError("never")

        book_safely(done, work, NOTHING)
        assert [lost for lost, _ in told] == [False, False, True]
        failed = told[1][1]
        assert isinstance(failed, Failed)
        assert (failed.reason, failed.final) == ("internal", True)
        assert told[2][1] is HANDED_BACK

    def test_nothing_gets_past_it(self, bell: Workbell) -> None:
        def done(_work: Work, _outcome: Outcome) -> None:
            raise LookupError("never")

        book_safely(done, self.work(bell, is_async=False), NOTHING)

    def test_a_thread_goes_on(self, bell: Workbell) -> None:
        begun: list[Work] = []

        def done(work: Work, _outcome: Outcome) -> None:
            begun.append(work)
            raise LookupError("never")

        slots = ThreadSlots(1, SystemClock(), lambda _: None, done)
        works = [self.work(bell, is_async=False) for _ in range(3)]
        slots.put(works)
        until(lambda: set(begun) == set(works), "all to be called in the one thread")
        slots.close()

    async def test_a_slot_on_the_loop_goes_on(self, bell: Workbell) -> None:
        begun: set[Work] = set()
        ended = asyncio.Event()

        def done(work: Work, _outcome: Outcome) -> None:
            begun.add(work)
            if len(begun) == 3:
                ended.set()
            raise LookupError("never")

        slots = AsyncSlots(asyncio.get_running_loop(), 1, SystemClock(), lambda _: None, done)
        slots.put([self.work(bell, is_async=True) for _ in range(3)])
        await asyncio.wait_for(ended.wait(), 10)
        slots.close()


APP = """
from workbell import Workbell

bell = Workbell({url!r})

@bell.job(isolate="process")
def broken(): raise ValueError("x")

@bell.job(isolate="process")
def fine(): return 1
"""


async def test_a_handler_in_a_process_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shop_of_broken_policies.py").write_text(APP.format(url=f"sqlite:///{tmp_path / 'workbell.db'}"))
    monkeypatch.syspath_prepend(tmp_path)
    import importlib

    module = importlib.import_module("shop_of_broken_policies")
    with module.bell as bell:
        break_policy(module.broken)
        await check_failed_and_slot_free(bell, module.broken, module.fine)
