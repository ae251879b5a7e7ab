"""A stop while a claim is under way: what it took is given back, however late its answer comes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from workbell import Status, StoreUnavailable, Workbell
from workbell.engine.engine import Engine
from workbell.engine.role import Role

GRACE = 0.9  # seconds, a third of which a supervised stop waits for the claim


class Scene:
    """A supervised worker. The answer to its claim waits for `go_on`, and is then what `answer` makes of it."""

    def __init__(self, bell: Workbell, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bell = bell
        self.called = 0
        self.engine: Engine | None = None
        self.answer: Callable[[Any], Any] = lambda taken: taken
        self._claimed, self.go_on = threading.Event(), threading.Event()
        runs = type(bell.store.runs)
        claim = runs.claim

        def late(of: Any, *args: Any, **options: Any) -> Any:
            taken = claim(of, *args, **options)
            if taken and not self._claimed.is_set():
                self._claimed.set()
                assert self.go_on.wait(30)
                return self.answer(taken)
            return taken

        monkeypatch.setattr(runs, "claim", late)

        @bell.job
        def work() -> None:
            self.called += 1

    def serve(self) -> None:
        """Start, stop in the middle of the claim, and let its answer come when the stop no longer waits for it."""

        def started(engine: Engine, stop: Callable[[bool], None]) -> None:
            self.engine = engine

            def stop_late() -> None:
                assert self._claimed.wait(30)
                stop(False)
                threading.Timer(GRACE, self.go_on.set).start()

            threading.Thread(target=stop_late, daemon=True).start()

        role = Role(schedules=False, give_up=lambda why: None, hand_over=lambda kept: True)
        asyncio.run(self.bell.host.serve(role, started, GRACE))


@pytest.fixture
def scene(sqlite_url: str, monkeypatch: pytest.MonkeyPatch):
    with Workbell(sqlite_url) as bell:
        yield Scene(bell, monkeypatch)


def test_a_late_answer(scene: Scene) -> None:
    run = scene.bell.enqueue("work")
    scene.serve()
    found = scene.bell.get(run.id)
    assert (found.status, found.attempt, scene.called) == (Status.QUEUED, 0, 0)
    assert scene.engine is not None
    assert scene.engine.holds_nothing


def test_an_answer_that_is_lost(scene: Scene) -> None:
    def lost(_taken: Any) -> Any:
        raise StoreUnavailable("gone")

    scene.answer = lost
    run = scene.bell.enqueue("work")
    scene.serve()
    assert scene.bell.get(run.id).status is Status.QUEUED


def test_a_store_that_is_gone_by_then(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """The supervisor is told, and has the keeper give it back."""

    def gone(*_: Any) -> Any:
        raise StoreUnavailable("gone")

    def lost(_taken: Any) -> Any:
        monkeypatch.setattr(type(scene.bell.store.runs), "leases_of", gone)
        raise StoreUnavailable("gone")

    scene.answer = lost
    run = scene.bell.enqueue("work")
    scene.serve()
    assert scene.engine is not None
    assert not scene.engine.holds_nothing
    assert scene.bell.get(run.id).status is Status.RUNNING
