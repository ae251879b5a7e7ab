"""Reports to systemd: READY once all polls were answered, WATCHDOG while they are, STOPPING at the end."""

from __future__ import annotations

import pytest

from workbell.process.service_manager import ServiceManager
from workbell.workers.readiness import Readiness
from workbell.workers.service_reports import ServiceReports


class Manager(ServiceManager):
    """Keeps what it is sent."""

    def __init__(self, watchdog: float | None) -> None:
        super().__init__("/nowhere", watchdog)
        self.got: list[str] = []

    def send(self, *lines: str) -> None:
        self.got.append("\n".join(lines))

    def taken(self) -> list[str]:
        got, self.got = self.got, []
        return got


class Scene:
    def __init__(self) -> None:
        self.now = 100.0
        self.manager = Manager(30.0)
        self.readiness = Readiness(["worker 1"], lambda: self.now)
        self.reports = ServiceReports(self.manager, self.readiness, lambda: self.now)

    def step(self, seconds: float = 0.0, *, silent: float | None = 0.0, drained: bool = False) -> list[str]:
        self.now += seconds
        self.readiness.note_step()
        self.readiness.note_heartbeat("worker 1", silent, drained=drained)
        self.reports.step()
        return self.manager.taken()


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_ready_only_after_the_first_poll(scene: Scene) -> None:
    assert scene.step(silent=None) == ["STATUS=worker 1 has not polled the store yet"]
    assert scene.step(silent=None) == []
    assert scene.step() == ["READY=1", "STATUS=ready", "WATCHDOG=1"]
    assert scene.step(1) == []


def test_pings_come_three_times_as_often_as_they_must_and_end_with_the_polls(scene: Scene) -> None:
    scene.step()
    assert scene.step(5) == []
    assert scene.step(5) == ["WATCHDOG=1"]
    assert scene.step(10, silent=10) == ["STATUS=worker 1: no poll of the store has succeeded for 10 s"]
    assert scene.step(20, silent=30) == []
    assert scene.step(1) == ["STATUS=ready", "WATCHDOG=1"]


def test_a_drained_worker_is_not_ended_by_the_watchdog(scene: Scene) -> None:
    scene.step()
    assert scene.step(10, drained=True) == ["STATUS=worker 1 is drained", "WATCHDOG=1"]


def test_stopping_is_said_once(scene: Scene) -> None:
    scene.step()
    scene.readiness.stopping = True
    assert scene.step(60) == ["STOPPING=1\nSTATUS=stopping"]
    assert scene.step(60) == []


def test_nobody_listens() -> None:
    readiness = Readiness(["worker 1"])
    ServiceReports(ServiceManager(), readiness).step()
