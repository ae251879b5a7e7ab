"""Handlers that are not called any more: their lease or their window is over, or they were canceled."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from queue import SimpleQueue
from typing import Any

import pytest

from tests.support.bench import LEASE, Bench
from tests.support.scheduling import look
from workbell import Status
from workbell.engine.executors import AsyncSlots, ThreadSlots
from workbell.engine.handler_processes.entry import no_entry
from workbell.engine.handler_processes.slots import IsolatedSlots
from workbell.engine.work import Work
from workbell.model.clock import ManualClock, SystemClock
from workbell.model.outcome import Outcome
from workbell.process.platform import VARIABLE, boot_clock, platform

PAUSE = LEASE.total_seconds() + 1

Ended = SimpleQueue[tuple[Work, Outcome]]
Put = Callable[[Sequence[Work]], None]
Kind = Callable[[Bench, Ended], tuple[Put, Callable[[], object]]]


def in_threads(bench: Bench, ended: Ended) -> tuple[Put, Callable[[], object]]:
    slots = ThreadSlots(1, bench.clock, bench.context, lambda *pair: ended.put(pair))
    return slots.put, slots.close


def on_a_loop(bench: Bench, ended: Ended) -> tuple[Put, Callable[[], object]]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    slots = AsyncSlots(loop, 1, bench.clock, bench.context, lambda *pair: ended.put(pair))

    def close() -> None:
        loop.call_soon_threadsafe(slots.close)
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0.01), loop).result()  # so that idle slots end
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

    return slots.put, close


def in_processes(bench: Bench, ended: Ended) -> tuple[Put, Callable[[], object]]:
    """`no_entry` refuses to start one."""
    registry = bench.bell.registry
    slots = IsolatedSlots(1, bench.clock, registry, no_entry, lambda _: None, lambda *pair: ended.put(pair))
    return slots.put, slots.close


class Scene:
    """A worker that has claimed runs, and slots of one kind."""

    def __init__(self, job: str, kind: Kind) -> None:
        self.bench = Bench()
        self.begun: list[str] = []
        self.ended: Ended = SimpleQueue()
        self.job = job
        self.bench.bell.job(name="plain")(self.plain)
        self.bench.bell.job(name="on_loop")(self.on_loop)
        self.bench.bell.job(name="isolated", isolate="process")(plain)
        self.put, self.close = kind(self.bench, self.ended)

    def plain(self, name: str) -> None:
        self.begun.append(name)

    async def on_loop(self, name: str) -> None:
        self.begun.append(name)

    def claim(self, *names: str) -> list[Work]:
        self.bench.bell.enqueue_many([(self.job, {"name": name}) for name in names])
        return self.bench.claim()

    def execute(self, works: Sequence[Work]) -> None:
        self.put(works)
        for _ in works:
            self.bench.book(*self.ended.get(timeout=30))

    @property
    def clock(self) -> ManualClock:
        assert isinstance(self.bench.clock, ManualClock)
        return self.bench.clock


def plain(name: str) -> None: ...


@pytest.fixture(params=["plain", "on_loop", "isolated"])
def scene(request: pytest.FixtureRequest) -> Iterator[Scene]:
    kinds: dict[str, Kind] = {"plain": in_threads, "on_loop": on_a_loop, "isolated": in_processes}
    scene = Scene(request.param, kinds[request.param])
    yield scene
    scene.close()


def test_none_begins_after_a_suspend_beyond_the_lease(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    works = scene.claim("a", "b")
    scene.clock.suspend(PAUSE)
    with caplog.at_level(logging.WARNING):
        scene.execute(works)
    assert scene.begun == []
    for work in works:  # nobody else had taken them: they wait again, and no attempt was spent
        run = scene.bench.run(work.run)
        assert (run.status, run.attempt) == (Status.QUEUED, 0)
    assert caplog.text.count("its lease ended 1.0 s ago") == 1


@pytest.mark.parametrize("outside", ["defer", "skip"])
def test_none_begins_after_its_window_has_closed(scene: Scene, outside: str) -> None:
    """It was claimed in time, and waited in the worker behind others."""
    bell = scene.bench.bell
    settings: dict[str, Any] = {"cron": "59 5 * * *", "timezone": "UTC", "window": ("02:00", "06:00")}
    bell.schedules.put("nightly", job=scene.job, input={"name": "a"}, outside=outside, **settings)
    scene.clock.advance(hours=5, minutes=59, seconds=50)
    look(bell, scene.clock.now())
    works = scene.bench.claim()
    scene.clock.advance(15)
    scene.execute(works)
    run = scene.bench.run(works[0].run)
    assert (scene.begun, scene.bench.attempts(run)) == ([], [])
    if outside == "skip":
        assert (run.status, run.reason) == (Status.CANCELED, "window")
    else:
        assert (run.status, run.attempt, run.scheduled_for) == (
            Status.SCHEDULED,
            0,
            datetime(2030, 1, 2, 2, tzinfo=UTC),
        )


def test_one_that_another_worker_has_is_left_alone(scene: Scene) -> None:
    (work,) = scene.claim("a")
    Bench(scene.bench.store, name="other").lapse()
    scene.execute([work])
    run = scene.bench.run(work.run)
    assert (scene.begun, run.status, run.losses) == ([], Status.QUEUED, 1)
    assert scene.bench.dropped == [work]


def test_a_canceled_one_ends_without_a_call(scene: Scene) -> None:
    (work,) = scene.claim("a")
    scene.bench.bell.cancel(work.run.id, "enough")
    scene.clock.advance(2)
    scene.bench.renew.step(scene.bench.clock.now())
    scene.execute([work])
    run = scene.bench.run(work.run)
    assert (scene.begun, run.status, run.reason) == ([], Status.CANCELED, "enough")


@pytest.mark.parametrize("scene", ["plain", "on_loop"], indirect=True)
class TestStillHeld:
    def test_a_lease_that_was_renewed_since(self, scene: Scene) -> None:
        works = scene.claim("a")
        scene.clock.suspend(PAUSE)
        scene.clock.advance(2)
        scene.bench.renew.step(scene.bench.clock.now())
        scene.execute(works)
        assert scene.begun == ["a"]

    def test_a_suspend_within_the_lease(self, scene: Scene) -> None:
        works = scene.claim("a")
        scene.clock.suspend(PAUSE - 2)
        scene.execute(works)
        assert scene.begun == ["a"]


class TestBootClock:
    def test_without_what_the_system_offers(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(VARIABLE, "plain")
        assert boot_clock() is time.monotonic
        assert SystemClock().boottime is time.monotonic

    @pytest.mark.skipif(sys.platform != "linux", reason="each system has its own")
    def test_on_linux(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(VARIABLE, "auto")
        assert platform().boot_clock
        before = time.clock_gettime(time.CLOCK_BOOTTIME)
        assert before <= boot_clock()() <= time.clock_gettime(time.CLOCK_BOOTTIME)
