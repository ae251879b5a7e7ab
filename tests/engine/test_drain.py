"""A drained worker: it claims nothing more, gives back what it has not begun, ends what it runs, and stays there."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.support.bench import Bench
from tests.support.fresh_store import fresh_store
from tests.support.prefetching import hold_ahead
from tests.support.waiting import until
from workbell import Status, Workbell, WorkerNotFound
from workbell.claims.claiming import FairClaims
from workbell.engine.duty import Waker
from workbell.engine.held_runs import HeldRuns
from workbell.engine.worker_registration import DRAIN_PACE, GAP, WorkerRegistration
from workbell.model.clock import ManualClock
from workbell.model.state import SUSPECT_LOSSES
from workbell.model.worker import BEAT, LOST_AFTER
from workbell.process.identity import process_name
from workbell.settings import Settings


def taken(waker: Waker) -> bool:
    """Whether it was woken since the last call."""
    woken, waker.woken = waker.woken, False
    return woken


@pytest.fixture
def bell() -> Iterator[Workbell]:
    with Workbell(store=fresh_store(), settings=Settings(poll=0.02, grace=5)) as bell:
        yield bell


@pytest.mark.anyio
async def test_it_ends_what_it_runs_and_begins_nothing(bell: Workbell, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[int] = []
    gate = asyncio.Event()

    @bell.job
    async def work(number: int) -> None:
        begun.append(number)
        await gate.wait()

    hold_ahead(monkeypatch, 5)  # one slot, and more in hand than it can execute
    runs = bell.enqueue_many(work.request(number=number) for number in range(6))
    async with bell.running(concurrency=1):
        await asyncio.to_thread(until, lambda: len(bell.runs(status="running")) == 6, "all to be claimed")
        worker = (await asyncio.to_thread(until, bell.workers, "the worker"))[0].worker.id
        drained = await bell.adrain_worker(worker)
        assert (drained.worker.id, drained.alive) == (worker, True)
        heard = await asyncio.to_thread(
            until, lambda: bell.workers()[0].worker.drain_seen_at, "it to say that it obeys"
        )
        await asyncio.to_thread(until, lambda: len(bell.runs(status="queued")) == 5, "five to be handed back")
        assert [run.attempt for run in bell.runs(status="queued")] == [0] * 5
        gate.set()
        assert (await bell.await_(runs[begun[0]].id, timeout=60)).status is Status.SUCCEEDED
        (seen,) = bell.workers()
        assert (seen.alive, seen.busy, seen.worker.drained_at) == (True, 0, drained.worker.drained_at)
        assert seen.worker.drain_seen_at == heard
        assert len(begun) == 1
        why = bell.why(bell.runs(status="queued")[0].id)
        assert "the only one that could take job 'work' from queue 'default' is drained" in why
        assert f"`workbell workers resume {worker}`" in why
        assert (await bell.aresume_worker(worker)).worker.drained_at is None
        ended = [await bell.await_(run.id, timeout=60) for run in runs]
        await bell.adrain_worker(worker)
    assert {(run.status, run.attempt) for run in ended} == {(Status.SUCCEEDED, 1)}
    async with bell.running():  # started again, it is another one
        (again,) = await asyncio.to_thread(until, bell.workers, "the worker")
        assert (again.worker.id == worker, again.worker.drained_at) == (False, None)


@pytest.fixture
def clocked(clock: ManualClock) -> Workbell:
    return Workbell(store=fresh_store(clock), settings=Settings())


@pytest.fixture
def drained() -> Waker:
    """Woken when the worker is drained, and when it may go on."""
    return Waker()


@pytest.fixture
def held(clock: ManualClock, drained: Waker) -> HeldRuns:
    return HeldRuns(clock, on_drain=[drained])


@pytest.fixture
def register(clocked: Workbell, held: HeldRuns) -> WorkerRegistration:
    register = WorkerRegistration(clocked.store, clocked.registry, held, f"{process_name()}/abc", None, 3)
    register.step(clocked.store.clock.now())
    return register


def test_it_learns_of_it_as_it_is_seen(
    clocked: Workbell, register: WorkerRegistration, held: HeldRuns, drained: Waker, clock: ManualClock
) -> None:
    (worker,) = clocked.store.workers.list()
    clocked.store.workers.drain(worker.id, clock.now())  # and no hint arrives
    clock.advance(BEAT / 2)
    register.step(clock.now())
    assert not taken(drained)
    clock.advance(BEAT / 2)
    register.step(clock.now())
    assert (taken(drained), held.drained) == (True, True)
    clocked.store.workers.remove([worker.id])  # forgotten by the others, and back as it was
    clock.advance(BEAT)
    register.step(clock.now())
    (back,) = clocked.store.workers.list()
    assert (held.drained, back.drained_at) == (True, clock.now() - timedelta(seconds=2 * BEAT))
    assert back.drain_seen_at == clock.now() - timedelta(seconds=BEAT)
    clocked.store.workers.resume(worker.id)
    clock.advance(BEAT)
    register.step(clock.now())
    assert (taken(drained), held.drained) == (True, False)


def test_after_a_hint_it_looks_and_says_that_it_obeys(
    clocked: Workbell, register: WorkerRegistration, held: HeldRuns, clock: ManualClock
) -> None:
    (worker,) = clocked.store.workers.list()
    clocked.drain_worker(worker.id)
    assert register.hint()
    assert not register.hint(), "of many hints the first is enough"
    assert register.step(clock.now()) == pytest.approx(GAP)
    clock.advance(GAP)
    register.step(clock.now())
    assert held.drained
    (found,) = clocked.store.workers.list()
    assert (found.seen_at, found.drain_seen_at) == (worker.seen_at, clock.now())
    assert register.hint(), "the next one counts again"


def test_it_says_so_only_when_nothing_can_begin(
    clocked: Workbell, register: WorkerRegistration, held: HeldRuns, clock: ManualClock
) -> None:
    held.claiming = True
    (worker,) = clocked.store.workers.list()

    def look() -> datetime | None:
        clock.advance(BEAT)
        register.step(clock.now())
        return clocked.store.workers.list()[0].drain_seen_at

    clocked.store.workers.drain(worker.id, clock.now())
    assert look() is None
    assert held.drained
    held.claiming = False
    assert register.step(clock.now()) > DRAIN_PACE
    assert clocked.store.workers.list()[0].drain_seen_at == clock.now()
    clocked.store.workers.resume(worker.id)
    clocked.store.workers.drain(worker.id, clock.now())  # between two looks: it is asked anew, and answers anew
    assert look() == clock.now()
    clocked.store.workers.resume(worker.id)
    assert look() is None
    assert not held.drained


@pytest.mark.parametrize("moment", ["claim", "mark_alone"])
def test_what_is_in_its_way_is_not_begun(moment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told while a step is under way: it says nothing until that has ended, and what came goes back."""
    bench = Bench()
    before = Bench(bench.store, name="before")
    for each in (bench, before):
        each.bell.job(name="work")(lambda: None)
    run = bench.bell.enqueue("work")
    for _ in range(SUSPECT_LOSSES if moment == "mark_alone" else 0):
        assert before.claim()
        before.lapse()
    subject: Any = FairClaims if moment == "claim" else bench.store.runs
    usual = getattr(subject, moment)
    quiet: list[bool] = []

    def meanwhile(*given: Any) -> Any:
        bench.held.drain(True)
        quiet.append(bench.held.is_quiet())
        return usual(*given)

    monkeypatch.setattr(subject, moment, meanwhile)
    assert bench.claim() == []
    assert (quiet, bench.held.is_quiet(), bench.held.by_id) == ([False], True, {})
    assert (bench.run(run).status, bench.run(run).worker) == (Status.QUEUED, None)


def test_whom_nobody_knows_or_has_seen_lately(
    clocked: Workbell, register: WorkerRegistration, clock: ManualClock
) -> None:
    for verb in (clocked.drain_worker, clocked.resume_worker):
        with pytest.raises(WorkerNotFound, match=r"no worker 'x'; bell.workers\(\) lists them"):
            verb("x")
    (worker,) = clocked.store.workers.list()
    clock.advance(LOST_AFTER.total_seconds() + 1)
    for verb in (clocked.drain_worker, clocked.resume_worker):
        with pytest.raises(WorkerNotFound, match="is lost: it was last seen at"):
            verb(worker.id)
    assert clocked.store.workers.list() == [worker]
