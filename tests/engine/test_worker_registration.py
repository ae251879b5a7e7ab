"""A worker in the list of workers: from its start to its stop, and for a day if it was lost (F6)."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from datetime import timedelta

import msgspec
import pytest

from tests.support.fresh_store import fresh_store
from tests.support.waiting import until
from workbell import Workbell, __version__
from workbell.engine.clean_history import remove
from workbell.engine.held_runs import HeldRuns
from workbell.engine.worker_registration import WorkerRegistration
from workbell.model.clock import ManualClock
from workbell.model.job import BUILT_IN, CLEAN
from workbell.model.worker import BEAT, LOST_AFTER, Worker
from workbell.process.identity import process_name
from workbell.settings import Settings
from workbell.stores.port import Store


@pytest.fixture
def bell(clock: ManualClock) -> Workbell:
    bell = Workbell(store=fresh_store(clock), settings=Settings())
    bell.job(name="send")(lambda: None)
    return bell


@pytest.fixture
def register(bell: Workbell) -> WorkerRegistration:
    return WorkerRegistration(
        bell.store, bell.registry, HeldRuns(bell.store.clock), f"{process_name()}/abc", ["mail"], 3
    )


def served(*own: str) -> tuple[str, ...]:
    """By name, with what every worker has."""
    return tuple(sorted({*own, *BUILT_IN} - {CLEAN}))


def only(bell: Workbell) -> Worker:
    (worker,) = bell.store.workers.list()
    return worker


def test_what_is_known_of_a_worker(bell: Workbell, register: WorkerRegistration, clock: ManualClock) -> None:
    assert bell.store.workers.list() == []
    register.step(clock.now())
    worker = only(bell)
    host, pid, start = process_name().split("/")
    assert (worker.id, worker.host, worker.pid) == (f"{host}/{pid}/{start}/abc", host, os.getpid())
    assert worker.incarnation == f"{start}/abc"
    assert (worker.version, worker.queues, worker.concurrency) == (__version__, ("mail",), 3)
    assert worker.jobs == served("send")
    assert worker.started_at == worker.seen_at == clock.now()
    assert not worker.stopping


def test_it_is_seen_every_few_seconds(bell: Workbell, register: WorkerRegistration, clock: ManualClock) -> None:
    start = clock.now()
    register.step(start)
    clock.advance(BEAT / 2)
    register.step(clock.now())
    assert only(bell).seen_at == start
    clock.advance(BEAT / 2)
    register.step(clock.now())
    assert (only(bell).seen_at, only(bell).started_at) == (clock.now(), start)
    assert timedelta(seconds=2 * BEAT) < LOST_AFTER, "one that is missed does not matter"


def test_a_change_of_its_jobs_is_known_soon(bell: Workbell, register: WorkerRegistration, clock: ManualClock) -> None:
    register.step(clock.now())
    bell.job(name="another")(lambda: None)
    pause = register.step(clock.now())
    assert only(bell).jobs == served("another", "send")
    assert pause <= 1
    bell.registry.replace([], ["send"])
    register.step(clock.now())
    assert only(bell).jobs == served("another")


def test_it_says_that_it_stops_and_is_gone(bell: Workbell, register: WorkerRegistration, clock: ManualClock) -> None:
    register.step(clock.now())
    register.note_stopping()
    register.step(clock.now())
    assert only(bell).stopping
    register.remove()
    assert bell.store.workers.list() == []


def test_one_that_was_removed_meanwhile_comes_back(
    bell: Workbell, register: WorkerRegistration, clock: ManualClock
) -> None:
    register.step(clock.now())
    bell.store.workers.remove([only(bell).id])
    clock.advance(BEAT)
    register.step(clock.now())
    assert only(bell).jobs == served("send")


def test_lost_workers_are_removed_after_a_day(bell: Workbell, register: WorkerRegistration, clock: ManualClock) -> None:
    register.step(clock.now())
    other = msgspec.structs.replace(only(bell), id="other/1/1", seen_at=clock.now() + timedelta(hours=2))
    bell.store.workers.put(other)
    removed: Counter[str] = Counter()
    clock.advance(24 * 3600)
    remove(bell.store, clock.now(), removed)
    assert len(bell.store.workers.list()) == 2
    clock.advance(1)
    remove(bell.store, clock.now(), removed)
    assert only(bell) == other
    assert removed["workers"] == 1


@pytest.mark.anyio
async def test_an_engine_is_listed_while_it_runs(store: Store) -> None:
    bell = Workbell(store=store, settings=Settings(poll=0.02))
    begun, go = asyncio.Event(), asyncio.Event()

    @bell.job
    async def hold() -> None:
        begun.set()
        await go.wait()

    assert await bell.aworkers() == []
    async with bell.running(queues=["default"], concurrency=4):
        run = await hold.aenqueue()
        await asyncio.wait_for(begun.wait(), 30)
        await asyncio.to_thread(until, bell.workers, "the worker")
        (seen,) = await bell.aworkers()
        assert (seen.alive, seen.busy, [each.id for each in seen.runs]) == (True, 1, [run.id])
        assert (seen.worker.queues, seen.worker.jobs, seen.worker.concurrency) == (("default",), served("hold"), 4)
        assert seen.worker.id == (await bell.aget(run.id)).worker
        (elsewhere,) = await bell.for_tenant("other").aworkers()
        assert (elsewhere.busy, elsewhere.runs) == (1, []), "what others run is nobody else's business"
        go.set()
        await bell.await_(run.id, timeout=30)
    assert await bell.aworkers() == []
