"""A handler that blocks the event loop is noticed and named in the log."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.fresh_store import fresh_store
from tests.support.waiting import until
from tests.unit.makers import run_in
from workbell import Workbell
from workbell.engine import loop_watch
from workbell.engine.held_runs import HeldRuns
from workbell.engine.loop_watch import LoopWatch
from workbell.model.clock import ManualClock
from workbell.model.run import Status
from workbell.settings import Settings


class Watched:
    """A Workbell that runs in a thread, so that its loop can stand still and the test goes on."""

    def __init__(self, bell: Workbell, caplog: pytest.LogCaptureFixture) -> None:
        self.bell = bell
        self._caplog = caplog
        self.loop: asyncio.AbstractEventLoop | None = None
        self._running, self._end = threading.Event(), threading.Event()

    @contextmanager
    def running(self) -> Iterator[asyncio.AbstractEventLoop]:
        async def serve() -> None:
            async with self.bell.running():
                self.loop = asyncio.get_running_loop()
                self._running.set()
                await asyncio.to_thread(self._end.wait, 60)

        thread = threading.Thread(target=asyncio.run, args=[serve()], daemon=True)
        thread.start()
        try:
            assert self._running.wait(30)
            assert self.loop is not None
            yield self.loop
        finally:
            self._end.set()
            thread.join(30)

    def lines(self, words: str) -> list[logging.LogRecord]:
        return [record for record in list(self._caplog.records) if words in record.getMessage()]


@pytest.fixture
def watched(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    monkeypatch.setattr(loop_watch, "PACE", 0.02)
    monkeypatch.setattr(loop_watch, "LIMIT", 0.2)
    caplog.set_level(logging.INFO, "workbell")
    with Workbell(store=fresh_store(), settings=Settings(poll=0.02, grace=5)) as bell:
        yield Watched(bell, caplog)


def counted(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How often the watch has looked."""
    looks: list[None] = []
    step = LoopWatch.step

    def one_more(self: LoopWatch, now: Any) -> float | None:
        looks.append(None)
        return step(self, now)

    monkeypatch.setattr(LoopWatch, "step", one_more)
    return lambda: len(looks)


def test_a_blocking_handler_is_named_once(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    gate, looks = threading.Event(), counted(monkeypatch)

    @watched.bell.job
    async def rude() -> None:
        gate.wait(60)

    try:
        with watched.running():
            run = rude.enqueue()
            until(lambda: watched.lines("is blocked"), "the blockage to be noticed")
            seen = looks()
            until(lambda: looks() > seen + 5, "the watch to look on")
            gate.set()
            until(lambda: watched.lines("loop goes on"), "the end of it to be noticed")
    finally:
        gate.set()
    (blocked,) = watched.lines("is blocked")
    (after,) = watched.lines("loop goes on")
    assert f"job 'rude' (run {run.id})" in blocked.getMessage()
    assert "test_loop_watch.py:" in blocked.blocked_at
    assert blocked.blocked_at.endswith("rude")
    assert (blocked.run_id, blocked.job) == (after.run_id, after.job) == (run.id, "rude")
    assert after.duration_s >= loop_watch.LIMIT


def test_the_applications_own_code_is_named_as_such(watched: Watched) -> None:
    gate, begun = threading.Event(), threading.Event()

    @watched.bell.job
    async def patient() -> None:
        begun.set()
        await asyncio.to_thread(gate.wait, 60)

    def of_the_application() -> None:
        gate.wait(60)

    try:
        with watched.running() as loop:
            patient.enqueue()
            assert begun.wait(30)
            loop.call_soon_threadsafe(of_the_application)
            until(lambda: watched.lines("is blocked"), "the blockage to be noticed")
            gate.set()
    finally:
        gate.set()
    (blocked,) = watched.lines("is blocked")
    assert "the application's own code" in blocked.getMessage()
    assert blocked.blocked_at.endswith("of_the_application")
    assert not hasattr(blocked, "run_id")


def test_handlers_that_await_are_left_in_peace(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long they take; and when none is left, nobody asks any more."""
    looks, gate, begun = counted(monkeypatch), threading.Event(), threading.Event()

    @watched.bell.job
    async def patient() -> None:
        begun.set()
        await asyncio.to_thread(gate.wait, 60)

    try:
        with watched.running():
            run = patient.enqueue()
            assert begun.wait(30)
            seen = looks()
            until(lambda: looks() > seen + 20, "many looks")
            gate.set()
            watched.bell.wait(run.id, timeout=30)
            engine = watched.bell.host.running
            assert engine is not None
            until(lambda: engine.worker_half is not None and engine.worker_half.loop_watch.resting, "the watch to rest")
    finally:
        gate.set()
    assert not watched.lines("is blocked")


# One step at a time


class Loop:
    """Stands for an event loop that answers when told to."""

    def __init__(self) -> None:
        self.asked: list[Callable[[], None]] = []
        self.closed = False

    def call_soon_threadsafe(self, call: Callable[[], None]) -> None:
        if self.closed:
            raise RuntimeError("Event loop is closed")
        self.asked.append(call)

    def answer(self) -> None:
        while self.asked:
            self.asked.pop()()


def work(on_loop: bool = True) -> Any:
    run = run_in(Status.RUNNING)
    return SimpleNamespace(run=run, settled=False, task=None, on_loop=on_loop)


def make(works: list[Any]) -> tuple[LoopWatch, Loop, ManualClock]:
    loop, clock = Loop(), ManualClock()
    held = HeldRuns(clock)
    held.works = lambda: works  # type: ignore[method-assign]
    watch = LoopWatch(loop, clock, held)  # type: ignore[arg-type]
    loop.answer()
    return watch, loop, clock


def test_without_handlers_nobody_asks() -> None:
    works: list[Any] = []
    watch, loop, clock = make(works)
    assert watch.step(clock.now()) is None
    assert watch.resting
    assert not loop.asked
    works.append(work(on_loop=False))
    assert watch.step(clock.now()) == loop_watch.PACE
    assert not watch.resting
    assert not loop.asked, "plain handlers do not need the loop"
    works.append(work())
    watch.step(clock.now())
    assert len(loop.asked) == 1


def test_a_process_that_stood_still_is_told_apart(caplog: pytest.LogCaptureFixture) -> None:
    """Not the loop is to blame where the watch itself did not run: it was stopped, or the interpreter was held."""
    watch, loop, clock = make([work()])
    watch.step(clock.now())
    clock.advance(10)
    watch.step(clock.now())
    (record,) = caplog.records
    assert "nothing in this process went on for 10.0 s" in record.getMessage()
    assert "'send' (run " in record.getMessage()
    clock.advance(loop_watch.PACE)
    watch.step(clock.now())
    loop.answer()
    watch.step(clock.now())
    assert len(caplog.records) == 1
    assert len(loop.asked) == 1, "and it is asked again"


def test_after_a_rest_no_standstill_is_told_of(caplog: pytest.LogCaptureFixture) -> None:
    works = [work()]
    watch, loop, clock = make(works)
    watch.step(clock.now())
    loop.answer()
    kept = works.pop()
    assert watch.step(clock.now()) is None
    clock.advance(100)
    works.append(kept)
    watch.step(clock.now())
    assert not caplog.records


def test_a_closed_loop_is_no_error() -> None:
    watch, loop, clock = make([work()])
    loop.closed = True
    assert watch.step(clock.now()) is None
