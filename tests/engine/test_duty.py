"""Duties that share a thread: each has its own pace and its own back-off, and none holds up another for long."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from datetime import datetime

import pytest

from tests.support.waiting import until
from workbell.engine.duty import Duty, DutyThread, Waker
from workbell.errors import StoreUnavailable
from workbell.model.clock import SystemClock

CLOCK = SystemClock()


class Chore:
    """A step that counts its calls, and says what it is told to say."""

    def __init__(self, event: threading.Event, name: str, answer: float | None = None) -> None:
        self.answer = answer
        self.error: Exception | None = None
        self.calls = 0
        self.duty = Duty(name, self.step, CLOCK, Waker(event))

    def step(self, _now: datetime) -> float | None:
        self.calls += 1
        if self.error is not None:
            raise self.error
        return self.answer


class Stage:
    def __init__(self) -> None:
        self.event = threading.Event()
        self.threads: list[DutyThread] = []

    def start(self, *chores: Chore) -> DutyThread:
        thread = DutyThread([chore.duty for chore in chores], "chores", self.event)
        self.threads.append(thread)
        thread.start()
        return thread


@pytest.fixture
def stage() -> Iterator[Stage]:
    stage = Stage()
    yield stage
    for thread in stage.threads:
        thread.stop()


def test_one_that_always_has_more_to_do_lets_the_others_have_their_turn(stage: Stage) -> None:
    busy, also, idle = (Chore(stage.event, name, 0) for name in ("busy", "also", "idle"))
    idle.answer = None
    stage.start(busy, also, idle)
    until(lambda: busy.calls > 100 and also.calls > 100, "both to be called")
    assert abs(busy.calls - also.calls) < 50
    assert idle.calls == 1
    idle.duty.waker.wake()
    until(lambda: idle.calls == 2, "the one that was woken")


def test_an_error_delays_nobody_else_and_ends_nothing(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    broken, away, fine = (Chore(stage.event, name, 0.01) for name in ("broken", "away", "fine"))
    broken.error, away.error = ValueError("x"), StoreUnavailable("gone")
    with caplog.at_level(logging.INFO, "workbell.engine"):
        stage.start(broken, away, fine)
        until(lambda: broken.calls >= 2 and away.calls >= 2, "both to be tried again")
        # Were a back-off waited for in the thread, all would have as many steps.
        until(lambda: fine.calls > broken.calls + 3, "steps in between, at a tenth of the first back-off")
        broken.error = away.error = None
        calls = broken.calls, away.calls
        until(lambda: broken.calls > calls[0] and away.calls > calls[1], "both to go on")
        until(lambda: "broken goes on" in caplog.text and "away goes on" in caplog.text, "that to be logged")
    assert caplog.text.count("broken failed, and is tried again") == 1
    assert caplog.text.count("away waits: gone") == 1


def test_a_wake_during_a_step_is_not_forgotten(stage: Stage) -> None:
    chore = Chore(stage.event, "chore")
    begun, go = threading.Event(), threading.Event()

    def slow(_now: datetime) -> None:
        chore.calls += 1
        begun.set()
        go.wait(30)

    chore.duty = Duty("chore", slow, CLOCK, Waker(stage.event))
    stage.start(chore)
    assert begun.wait(30)
    chore.duty.waker.wake()
    go.set()
    until(lambda: chore.calls == 2, "another step")


def test_one_that_is_stopped_takes_no_other_step_and_the_others_go_on(stage: Stage) -> None:
    begun, go, stopped = threading.Event(), threading.Event(), threading.Event()
    ended: list[bool] = []
    chore, other = Chore(stage.event, "chore"), Chore(stage.event, "other", 0.001)

    def slow(_now: datetime) -> float:
        begun.set()
        go.wait(30)
        ended.append(True)
        return 0

    def stop() -> None:
        chore.duty.stop()
        assert ended == [True], "the step under way has ended"
        stopped.set()

    chore.duty = Duty("chore", slow, CLOCK, Waker(stage.event))
    stage.start(chore, other)
    assert begun.wait(30)
    stopping = threading.Thread(target=stop)
    stopping.start()
    go.set()
    stopping.join(30)
    assert stopped.is_set()
    calls = other.calls
    until(lambda: other.calls > calls + 2, "the other one")
    assert ended == [True]


def test_a_thread_ends_at_once_however_long_its_duties_wait(stage: Stage) -> None:
    chore = Chore(stage.event, "chore", 3600)
    thread = stage.start(chore)
    until(lambda: chore.calls, "the first step")
    thread.stop()
    assert not thread._thread.is_alive()


def test_how_long_a_step_is_overdue(monkeypatch: pytest.MonkeyPatch) -> None:
    """0 while it waits by right; from then on when it was due or woken, until one succeeds."""
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    chore = Chore(threading.Event(), "chore", 5.0)
    duty = chore.duty
    assert duty.overdue() is None
    chore.error = StoreUnavailable("gone")
    duty.take_step()
    assert duty.overdue() is None, "none has succeeded yet"
    chore.error = None
    duty.take_step()
    assert duty.overdue() == 0
    now += 5
    assert duty.overdue() == 0
    now += 2
    assert duty.overdue() == 2, "no step was taken"
    chore.error = StoreUnavailable("gone")
    duty.take_step()
    now += 1
    duty.take_step()
    assert duty.overdue() == 3, "steps that fail are none"
    chore.error, chore.answer = None, None
    duty.take_step()
    now += 3600
    assert duty.overdue() == 0, "it waits to be woken"
    chore.error = StoreUnavailable("gone")
    duty.take_step()
    now += 4
    assert duty.overdue() == 4
