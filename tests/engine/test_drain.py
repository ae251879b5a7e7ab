"""A drained worker: it claims nothing more, gives back what it has not begun, ends what it runs, and stays there."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import timedelta

import pytest

from tests.support.waiting import until
from workbell import Status, Workbell, WorkerNotFound
from workbell.engine.consume import Consume
from workbell.engine.register import GAP, Register
from workbell.machine import process_name
from workbell.model.clock import ManualClock
from workbell.model.worker import BEAT, LOST_AFTER
from workbell.settings import Settings
from workbell.stores.memory import MemoryStore


@pytest.fixture
def bell() -> Iterator[Workbell]:
    with Workbell(settings=Settings(url="memory://", poll=0.02, grace=5)) as bell:
        yield bell


@pytest.mark.anyio
async def test_it_ends_what_it_runs_and_begins_nothing(bell: Workbell, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[int] = []
    gate = asyncio.Event()

    @bell.job
    async def work(number: int) -> None:
        begun.append(number)
        await gate.wait()

    monkeypatch.setattr(Consume, "_ahead", lambda _self: 5)  # one slot, and more in hand than it can execute
    runs = bell.enqueue_many(work.request(number=number) for number in range(6))
    async with bell.running(concurrency=1):
        await asyncio.to_thread(until, lambda: len(bell.runs(status="running")) == 6, "all to be claimed")
        worker = (await asyncio.to_thread(until, bell.workers, "the worker"))[0].worker.id
        drained = await bell.adrain_worker(worker)
        assert (drained.worker.id, drained.alive) == (worker, True)
        await asyncio.to_thread(until, lambda: len(bell.runs(status="queued")) == 5, "five to be handed back")
        assert [run.attempt for run in bell.runs(status="queued")] == [0] * 5
        gate.set()
        assert (await bell.await_(runs[begun[0]].id, timeout=60)).status is Status.SUCCEEDED
        (seen,) = bell.workers()
        assert (seen.alive, seen.busy, seen.worker.drained_at) == (True, 0, drained.worker.drained_at)
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
    return Workbell(store=MemoryStore(clock), settings=Settings())


@pytest.fixture
def register(clocked: Workbell) -> Register:
    register = Register(clocked.store, clocked.registry, f"{process_name()}/abc", None, 3)
    register.step(clocked.store.clock.now())
    return register


def test_it_learns_of_it_as_it_is_seen(clocked: Workbell, register: Register, clock: ManualClock) -> None:
    turns: list[bool] = []
    register.turned = lambda: turns.append(register.is_drained())
    (worker,) = clocked.store.list_workers()
    clocked.store.drain_worker(worker.id, clock.now())  # and no hint arrives
    clock.advance(BEAT / 2)
    register.step(clock.now())
    assert turns == []
    clock.advance(BEAT / 2)
    register.step(clock.now())
    assert turns == [True]
    clocked.store.remove_workers([worker.id])  # forgotten by the others, and back as it was
    clock.advance(BEAT)
    register.step(clock.now())
    (back,) = clocked.store.list_workers()
    assert (register.is_drained(), back.drained_at) == (True, clock.now() - timedelta(seconds=2 * BEAT))
    clocked.store.resume_worker(worker.id)
    clock.advance(BEAT)
    register.step(clock.now())
    assert turns == [True, False]


def test_after_a_hint_it_looks_and_writes_nothing(clocked: Workbell, register: Register, clock: ManualClock) -> None:
    (worker,) = clocked.store.list_workers()
    clocked.drain_worker(worker.id)
    assert register.hint()
    assert not register.hint(), "of many hints the first is enough"
    assert register.step(clock.now()) == pytest.approx(GAP)
    clock.advance(GAP)
    register.step(clock.now())
    assert register.is_drained()
    assert clocked.store.list_workers()[0].seen_at == worker.seen_at
    assert register.hint(), "the next one counts again"


def test_whom_nobody_knows_or_has_seen_lately(clocked: Workbell, register: Register, clock: ManualClock) -> None:
    for verb in (clocked.drain_worker, clocked.resume_worker):
        with pytest.raises(WorkerNotFound, match=r"no worker 'x'; bell.workers\(\) lists them"):
            verb("x")
    (worker,) = clocked.store.list_workers()
    clock.advance(LOST_AFTER.total_seconds() + 1)
    for verb in (clocked.drain_worker, clocked.resume_worker):
        with pytest.raises(WorkerNotFound, match="is lost: it was last seen at"):
            verb(worker.id)
    assert clocked.store.list_workers() == [worker]
