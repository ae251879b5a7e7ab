"""Cleaning is a system job with runs of its own, done by one scheduler at a time, whatever is paused (B7)."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from tests.support.fresh_store import fresh_store
from tests.support.scheduling import told
from workbell import InvalidOption, Run, Status, Workbell
from workbell.engine import clean_history as module
from workbell.engine.clean_history import FIRST_CHECK, MOST_RUNS, CleanHistory, clean_job
from workbell.engine.recover import Recover
from workbell.errors import StoreError
from workbell.model import state
from workbell.model.job import CLEAN
from workbell.runs.booking import Booking
from workbell.stores.port import Store
from workbell.testing.contracts.making import KEEP, claim

HOUR = 3600.0


class Scene:
    def __init__(self, store: Store, every: float = HOUR, *, is_old: bool = True) -> None:
        self.bell, self.clock = told(store)
        self.store = store
        self.every = every
        self.booking = Booking(lambda: store, self.bell.runtime.publisher, KEEP)
        if is_old:
            store.jobs.put([clean_job("default", self.clock.now() - timedelta(seconds=every))])

    def scheduler(self, worker: str = "host/1/1") -> CleanHistory:
        return CleanHistory(self.store, self.booking, "default", worker, self.every, timedelta(seconds=30))

    def settled(self, worker: str = "host/1/1") -> CleanHistory:
        """A scheduler that has been there for a while."""
        clean = self.scheduler(worker)
        wait = clean.step(self.clock.now())
        assert wait == min(FIRST_CHECK, self.every)
        self.clock.advance(wait)
        return clean

    def work(self, clean: CleanHistory) -> float:
        """Until there is nothing to do; for how long."""
        while (wait := clean.step(self.clock.now())) <= module.PAUSE:
            self.clock.advance(wait)
        return wait

    @property
    def runs(self) -> list[Run]:
        return self.bell.runs(job=CLEAN)

    def end(self, count: int, **options: Any) -> None:
        """Runs that are over and done with."""
        for _ in range(count):
            self.bell.enqueue("work", **options)
        now = self.clock.now()
        for run in claim(self.store, count):
            self.store.runs.apply([state.succeed(run, now, result=None, keep=timedelta(0))])


@pytest.fixture
def scene(store: Store) -> Scene:
    return Scene(store)


def test_what_was_removed_is_its_result(scene: Scene) -> None:
    scene.end(3)
    clean = scene.settled()
    scene.work(clean)
    (run,) = scene.runs
    assert (run.status, run.job, run.queue, run.worker) == (Status.SUCCEEDED, CLEAN, "system", "host/1/1")
    assert (run.result["runs"], run.result["events"], run.result.get("workers", 0)) == (3, 0, 0)
    assert scene.bell.runs(job="work") == []
    assert scene.store.jobs.find("default", CLEAN) is not None


def test_how_long_it_took(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    prune = scene.store.prune

    def slowly(*given: Any) -> int:
        scene.clock.advance(2)
        return prune(*given)

    monkeypatch.setattr(scene.store, "prune", slowly)
    scene.work(scene.settled())
    (run,) = scene.runs
    assert run.started_at is not None
    assert run.finished_at is not None
    assert run.finished_at - run.started_at == timedelta(seconds=2)


def test_a_new_store_is_cleaned_after_an_hour(store: Store) -> None:
    """Somebody's first runs are their own; restarts within the hour do not put it off."""
    scene = Scene(store, is_old=False)
    scene.end(3)
    for number in range(6):
        clean = scene.settled(f"host/{number}/1")
        scene.work(clean)
        assert scene.runs == []
        scene.clock.advance(540)
    scene.work(scene.settled())
    (run,) = scene.runs
    assert (run.status, run.result["runs"]) == (Status.SUCCEEDED, 3)


def test_who_finds_it_done_comes_back_when_it_is_due_again(scene: Scene) -> None:
    scene.work(scene.settled("one"))
    two = scene.settled("two")
    wait = two.step(scene.clock.now())
    (run,) = scene.runs
    assert scene.clock.now() + timedelta(seconds=wait) == run.created_at + timedelta(hours=1)


def test_once_an_hour_whoever_does_it(scene: Scene) -> None:
    one, two = scene.settled("one"), scene.scheduler("two")
    two.step(scene.clock.now())
    for _ in range(290):
        one.step(scene.clock.now())
        two.step(scene.clock.now())
        scene.clock.advance(60)
    times = sorted(run.created_at for run in scene.runs)
    assert [round((b - a) / timedelta(minutes=1)) for a, b in pairwise(times)] == [60] * 4
    assert {run.status for run in scene.runs} == {Status.SUCCEEDED}
    again = scene.settled("three")  # a new process goes by what the store knows
    scene.work(again)
    assert len(scene.runs) == 5


def test_its_own_runs_stay_few(store: Store) -> None:
    scene = Scene(store, every=60)
    clean = scene.settled()
    for _ in range(MOST_RUNS + 20):
        scene.work(clean)
        scene.clock.advance(60)
    assert len(scene.bell.runs(job=CLEAN, limit=1000)) <= MOST_RUNS + 2


@pytest.mark.parametrize("what", [{"job": CLEAN}, {"queue": "system"}])
def test_no_pause_holds_it_up_and_no_worker_takes_it(scene: Scene, what: dict[str, str]) -> None:
    scene.bell.pause(**what)
    clean = scene.settled()
    scene.work(clean)
    assert [run.status for run in scene.runs] == [Status.SUCCEEDED]
    assert CLEAN not in scene.bell.registry
    with pytest.raises(InvalidOption, match=f"job {CLEAN}: it starts by itself"):
        scene.bell.enqueue(CLEAN)


def test_one_that_died_over_it_is_followed_by_another(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BATCH", 2)
    scene.end(5)
    dying = scene.settled("dying")
    assert dying.step(scene.clock.now()) == module.PAUSE
    (run,) = scene.runs
    assert run.status is Status.RUNNING
    recover = Recover(scene.store, scene.booking, lambda _: None, 1, timedelta(seconds=30))
    for seconds in (0, 31, 31, 4):  # the lease is seen, is over, and the store answers meanwhile
        scene.clock.advance(seconds)
        recover.step(scene.clock.now())
    other = scene.settled("other")
    scene.work(other)
    (run,) = scene.runs
    assert (run.status, run.worker, run.result["runs"]) == (Status.SUCCEEDED, "other", 3)
    assert dying.step(scene.clock.now()) == 0  # its lease is gone, and it does nothing more about that run
    assert len(scene.runs) == 1


def test_a_long_one_keeps_its_lease(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BATCH", 1)
    scene.end(5)
    clean = scene.settled()
    for _ in range(5):
        clean.step(scene.clock.now())
        scene.clock.advance(15)
    scene.work(clean)
    (run,) = scene.runs
    assert (run.status, run.losses, run.result["runs"]) == (Status.SUCCEEDED, 0, 5)


def test_what_cannot_be_removed_is_said(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise StoreError("a trigger of yours refuses it")

    monkeypatch.setattr(scene.store, "prune", refuse)
    clean = scene.settled()
    scene.work(clean)
    (run,) = scene.runs
    assert (run.status, run.error) == (Status.FAILED, "a trigger of yours refuses it")
    monkeypatch.undo()
    scene.clock.advance(HOUR)
    scene.work(clean)
    assert [run.status for run in scene.runs] == [Status.SUCCEEDED, Status.FAILED]


def test_listeners_to_jobs_do_not_hear_of_it() -> None:
    bell = Workbell(store=fresh_store())
    scene = Scene(bell.store)
    heard: list[object] = []
    scene.bell.listen("job.*", heard.append)
    scene.work(scene.settled())
    assert heard == []


def test_a_shorter_pace_counts_at_once(store: Store) -> None:
    """The run before was made at the pace of then; nobody looks in a loop until that would have been over."""
    before = Scene(store)
    before.work(before.settled())
    (first,) = before.runs
    scene = Scene(store, every=60.0)
    scene.clock.advance((first.created_at + timedelta(seconds=50) - scene.clock.now()).total_seconds())
    clean = scene.settled()
    wait = scene.work(clean)
    assert len(scene.runs) == 2
    assert wait == 60.0


def test_one_of_many_has_it_also_at_a_shorter_pace(store: Store) -> None:
    before = Scene(store)
    before.work(before.settled())
    scene = Scene(store, every=60.0)
    cleans = [scene.settled(f"host/{number}/1") for number in range(3)]
    for clean in cleans:
        scene.work(clean)
    assert len(scene.runs) == 2


def test_a_stop_hands_it_back(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is nobody's loss: the next scheduler has it at once."""
    clean = scene.settled()
    with monkeypatch.context() as endless:
        endless.setattr(module, "remove", lambda *_: True)
        clean.step(scene.clock.now())
    (run,) = scene.runs
    assert run.status is Status.RUNNING
    clean.hand_back(scene.clock.now())
    (run,) = scene.runs
    assert (run.status, run.attempt, run.losses) == (Status.QUEUED, 0, 0)
    clean.hand_back(scene.clock.now())  # there is nothing any more
    other = scene.settled("host/2/1")
    scene.work(other)
    (run,) = scene.runs
    assert (run.status, run.worker) == (Status.SUCCEEDED, "host/2/1")


def test_it_can_be_canceled(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    clean = scene.settled()
    with monkeypatch.context() as endless:
        endless.setattr(module, "remove", lambda *_: True)
        clean.step(scene.clock.now())
        (run,) = scene.runs
        scene.bell.cancel(run.id, "not now")
        scene.clock.advance(15)
        clean.step(scene.clock.now())
    (run,) = scene.runs
    assert (run.status, run.reason) == (Status.CANCELED, "not now")


def test_it_is_not_run_again_by_hand(scene: Scene) -> None:
    scene.work(scene.settled())
    (run,) = scene.runs
    with pytest.raises(InvalidOption, match="clean-history: it starts by itself, as the setting clean_every says"):
        scene.bell.retry(run.id)
    with pytest.raises(InvalidOption, match="clean-history: it starts by itself, as the setting clean_every says"):
        scene.bell.enqueue(CLEAN)
