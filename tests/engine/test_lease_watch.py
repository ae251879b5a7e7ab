"""P4, P7: which leases a sweep takes, whatever the clocks say (a lease of 30 s, renewed every second)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.support.bench import LEASE, Bench
from workbell import Run, Status
from workbell.engine.lease_watch import LeaseWatch
from workbell.model.clock import EPOCH, ManualClock
from workbell.process.identity import is_gone, process_name
from workbell.process.platform import platform
from workbell.stores.port import Lease

SWEEP = 5.0


class Scene:
    """A holder of one lease and a watcher, each with a clock of its own; time passes for both."""

    def __init__(self, worker: str = "elsewhere/1/2/a", lease: float = 30, dead: bool = False) -> None:
        self.clock = ManualClock()  # the watcher's
        self.ahead = timedelta(0)  # of the holder's clock
        self.lease = lease
        self.worker = worker
        self.watch = LeaseWatch(LEASE, lambda _worker: dead)
        self.renew()

    def renew(self) -> None:
        until = self.clock.now() + self.ahead + timedelta(seconds=self.lease)
        self.held = Lease("run", 1, until, self.worker)

    def sweep(self) -> bool:
        """Whether it takes the lease."""
        now, moment = self.clock.now(), self.clock.monotonic()
        soon, far = self.watch.bounds(now)
        found = [self.held] if self.held.until <= soon or self.held.until > far else []
        return bool(self.watch.ended(found, now, moment, moment))

    def live(self, seconds: float) -> bool:
        """The holder renews every second, the watcher sweeps every five; whether that ever took the lease."""
        taken = False
        for second in range(int(seconds)):
            self.clock.advance(1)
            self.renew()
            taken = taken or (second % SWEEP == 0 and self.sweep())
        return taken

    def die(self, most: float = 300) -> float:
        """The holder renews no more: after how long the lease is taken."""
        died, swept = self.clock.monotonic(), 0.0
        while not self.sweep():
            moment = self.clock.monotonic()
            assert moment - died < most, "it is never taken"
            next_at = self.watch.next_at(moment)
            pause = SWEEP if next_at is None else min(SWEEP, next_at - moment)
            self.clock.advance(max(pause, 0.001))
            swept += 1
        return self.clock.monotonic() - died


def test_a_dead_worker_loses_its_lease_when_that_ends() -> None:
    scene = Scene()
    assert not scene.live(60)
    assert LEASE.total_seconds() <= scene.die() <= LEASE.total_seconds() + SWEEP


@pytest.mark.parametrize("hours", [1, -1, 24, -24])
@pytest.mark.parametrize("whose", ["watcher", "holder"])
def test_a_living_one_keeps_it_when_a_clock_is_put(whose: str, hours: float) -> None:
    scene = Scene()
    assert not scene.live(60)
    if whose == "holder":
        scene.ahead = timedelta(hours=hours)
    else:
        scene.clock.put(hours=hours)
        scene.ahead = timedelta(hours=-hours)
    assert not scene.live(120)  # the other has not followed yet, and may never do so
    scene.ahead = timedelta(0)
    assert not scene.live(120)
    assert LEASE.total_seconds() <= scene.die() <= LEASE.total_seconds() + SWEEP


@pytest.mark.parametrize("seconds", [28, 29, 29.5, 30, 30.5, 31])
def test_a_living_one_keeps_it_when_clocks_are_about_a_lease_apart(seconds: float) -> None:
    """Then its lease seems to end now and then, in front of our eyes, before it is renewed."""
    scene = Scene()
    scene.ahead = timedelta(seconds=-seconds)
    assert not scene.live(120)


@pytest.mark.parametrize("hours", [1, -1])
def test_a_dead_one_loses_it_when_a_clock_was_put(hours: float) -> None:
    """In both directions: an end far ahead is believed no more than one that is long past."""
    scene = Scene()
    assert not scene.live(60)
    scene.clock.put(hours=hours)
    assert scene.die() <= LEASE.total_seconds() + 2 * SWEEP


@pytest.mark.parametrize("hours", [1, 0, -1])
def test_a_process_that_starts_later_watches_first(hours: float) -> None:
    """It cannot know whether anybody renews, nor whose clock was put since."""
    scene = Scene()
    scene.clock.put(hours=hours)
    scene.ahead = timedelta(hours=-hours)
    assert not scene.live(60)
    scene.clock.advance(3600)
    later = Scene()
    later.clock, later.held = scene.clock, scene.held
    assert 28 <= later.die() <= LEASE.total_seconds() + SWEEP


def test_whose_process_is_known_to_be_gone_is_watched_for_a_moment_only() -> None:
    scene = Scene(dead=True)
    scene.clock.advance(3600)
    assert scene.die() == pytest.approx(LEASE.total_seconds() * 0.4)
    scene = Scene(dead=True)
    assert scene.die() >= LEASE.total_seconds()  # and not before its end
    scene = Scene(dead=True)  # as it seems: it is in another container
    scene.clock.put(hours=1)
    scene.ahead = timedelta(hours=-1)
    assert not scene.live(60)


def test_one_that_was_taken_over_and_not_moved_is_taken_again_soon() -> None:
    scene = Scene()
    scene.held = scene.held._replace(until=EPOCH)
    assert scene.die() == pytest.approx(3)


def test_an_agent_may_have_a_longer_lease() -> None:
    scene = Scene(worker="agent/x/y", lease=3600)
    assert scene.die(4000) >= 3600
    assert Scene(worker="elsewhere/1/2/a", lease=100).die() >= 100  # as may somebody with other settings


@pytest.mark.parametrize("lease", [30, 60, 90, 100, 119, 300, 3600])
def test_an_agent_with_a_long_lease_keeps_it_when_the_clock_is_put_ahead(lease: float) -> None:
    """It renews every third of that."""
    scene = Scene(worker="agent/x/y", lease=lease)
    assert not scene.sweep()
    scene.clock.put(hours=1)
    for _ in range(int(lease / 3)):
        scene.clock.advance(1)
        assert not scene.sweep()
    scene.renew()
    assert lease <= scene.die(4000) <= lease + SWEEP


def test_time_in_which_the_store_did_not_answer_does_not_count() -> None:
    scene = Scene()
    scene.clock.put(hours=1)
    watch, moment, now = scene.watch, scene.clock.monotonic(), scene.clock.now()
    assert watch.ended([scene.held], now, moment, moment + 1000) == []  # it was read at the end of that
    assert watch.ended([scene.held], now, moment + 1001, moment + 1001) == []
    assert watch.ended([scene.held], now, moment + 1027, moment + 1027) == []
    assert watch.ended([scene.held], now, moment + 1028, moment + 1028) == [scene.held]


def test_what_is_not_there_any_more_is_forgotten() -> None:
    scene = Scene()
    watch, now = scene.watch, scene.clock.now()
    watch.ended([scene.held], now, 0, 0)
    assert watch.next_at(0) == 27  # whether the store answers writes from then on
    assert watch.next_at(27) == 30
    assert watch.ended([], now, 1, 1) == []
    assert watch.next_at(1) is None


def test_processes_of_this_machine() -> None:
    host, pid, start = process_name().split("/")
    assert not is_gone(process_name())
    assert is_gone(f"{host}/{pid}/{int(start or 2) - 1}/abc") == platform().proc, "else its start is not known"
    for unknown in (f"other/{pid}/1", f"{host}/{pid}/", f"{host}/x/1", f"{host}", "", "agent/1/2"):
        assert not is_gone(unknown)


class TestSteps:
    """The engine's duties together, when the store's clock is put ahead or back."""

    @pytest.fixture
    def bench(self) -> Bench:
        bench = Bench()

        @bench.bell.job
        def work() -> None: ...

        return bench

    def pass_time(self, bench: Bench, seconds: int) -> None:
        for second in range(seconds):
            bench.clock.advance(1)
            bench.renew.step(bench.clock.now())
            if second % SWEEP == 0:
                bench.recover.step(bench.clock.now())

    @pytest.mark.parametrize("hours", [1, -1])
    def test_nobody_loses_a_run(self, bench: Bench, hours: float) -> None:
        run = bench.bell.enqueue("work")
        (work,) = bench.claim()
        self.pass_time(bench, 10)
        bench.clock.put(hours=hours)
        other = Bench(bench.store, name="other")
        other.recover.step(bench.clock.now())  # one that begins now
        self.pass_time(bench, 120)
        other.recover.step(bench.clock.now())
        assert (work.lost, bench.stopped) == (False, [])
        assert bench.run(run).status is Status.RUNNING
        bench.book(work, bench.call(work))
        assert (bench.run(run).status, bench.run(run).losses) == (Status.SUCCEEDED, 0)

    @pytest.mark.parametrize("hours", [1, -1])
    def test_a_run_of_a_dead_worker_comes_back(self, bench: Bench, hours: float) -> None:
        run = bench.bell.enqueue("work")
        bench.claim()
        self.pass_time(bench, 10)
        bench.held.by_id.clear()  # nobody renews any more
        bench.clock.put(hours=hours)
        self.pass_time(bench, 40)
        lost = bench.run(run)
        assert (lost.status, lost.losses, lost.attempt) == (Status.QUEUED, 1, 1)
        assert "worker stopped renewing its lease" in (lost.error or "")

    def test_a_renewal_that_comes_first_wins(self, bench: Bench) -> None:
        """The sweep takes what it saw, or nothing."""
        run = bench.bell.enqueue("work")
        (work,) = bench.claim()
        bench.clock.advance(3)
        bench.recover.step(bench.clock.now())
        bench.clock.advance(40)

        def renewed_meanwhile(leases: list[Lease], limit: int) -> list[Run]:
            bench.renew.step(bench.clock.now())
            return take_over(leases, limit)

        take_over = bench.store.runs.take_over
        bench.store.runs.take_over = renewed_meanwhile  # type: ignore[method-assign]
        bench.recover.step(bench.clock.now())
        assert bench.run(run).status is Status.RUNNING
        assert not work.lost
