"""P6: a worker that cannot reach the store ends before its leases do; one that was only held up does not."""

from __future__ import annotations

from workbell.engine.exit_on_lost_leases import ExitOnLostLeases
from workbell.model.clock import ManualClock

LEASE = 10.0


class Scene:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.renewals = 0
        self.waiting = True
        self.said: list[str] = []
        self.executing: list[float] = [0.0]  # when the runs were claimed whose handlers execute
        self.handed_back: list[float] = []
        self._watch = ExitOnLostLeases(
            self.clock,
            LEASE,
            self,
            self.said.append,
            executes=lambda before: any(claimed <= before for claimed in self.executing),
            hand_back=self.handed_back.append,
        )

    def is_due(self) -> bool:
        return self.waiting

    def pass_time(self, seconds: float, *, renewing: bool = False) -> None:
        """As threads see it that run all the time."""
        end = self.clock.monotonic() + seconds
        while self.clock.monotonic() < end and not self.said:
            self.renewals += renewing
            self.clock.advance(self._watch.step(self.clock.now()))

    def be_held_up(self, seconds: float) -> None:
        """As when nothing in the process runs."""
        self.clock.advance(seconds)
        self._watch.step(self.clock.now())


def test_before_the_leases_end() -> None:
    scene = Scene()
    scene.pass_time(5, renewing=True)
    lost_at = scene.clock.monotonic()
    scene.pass_time(LEASE)
    assert len(scene.said) == 1
    assert "cannot be reached" in scene.said[0]
    assert LEASE * 0.7 < scene.clock.monotonic() - lost_at < LEASE


def test_not_while_leases_are_renewed() -> None:
    scene = Scene()
    scene.pass_time(50, renewing=True)
    assert not scene.said


def test_not_without_leases() -> None:
    scene = Scene()
    scene.waiting = False
    scene.pass_time(50)
    assert not scene.said


def test_not_while_only_outcomes_wait() -> None:
    """Their handlers have ended: nobody executes beside whoever takes their runs. What has not begun is handed back."""
    scene = Scene()
    scene.executing = []
    scene.pass_time(50)
    assert not scene.said
    assert scene.handed_back
    scene.executing = [scene.clock.monotonic()]  # its lease is as long as any
    scene.pass_time(LEASE * 0.7)
    assert not scene.said
    scene.pass_time(LEASE * 0.2)
    assert len(scene.said) == 1


def test_not_after_a_handler_held_the_interpreter() -> None:
    """The keeper has renewed meanwhile, and this process can in a moment."""
    scene = Scene()
    scene.pass_time(1, renewing=True)
    scene.be_held_up(10 * LEASE)
    assert not scene.said
    scene.pass_time(1, renewing=True)
    assert not scene.said
