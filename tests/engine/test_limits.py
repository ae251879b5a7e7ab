"""Limits and pauses in a real engine: what handlers see of them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.support.fresh_store import fresh_store
from tests.support.prefetching import hold_ahead
from tests.support.waiting import until
from tests.unit.makers import worker_of
from workbell import Context, Status, Workbell
from workbell.claims.claiming import Claimant, FairClaims
from workbell.engine.consume import limits
from workbell.engine.hand_back import HandBack
from workbell.engine.held_runs import HeldRuns
from workbell.engine.work import Work
from workbell.model.clock import ManualClock
from workbell.model.limit import Limits, limits_on
from workbell.model.state import Move
from workbell.settings import Settings
from workbell.testing import drain

pytestmark = pytest.mark.anyio

QUICK = {"lease": 5.0, "poll": 0.05, "sweep": 0.5, "grace": 5.0}


@pytest.fixture
def bell(store_url: str) -> Iterator[Workbell]:
    with Workbell(settings=Settings(url=store_url, **QUICK)) as bell:
        bell.store.check()
        yield bell


class Gauge:
    """How many handlers are inside at once, by key."""

    def __init__(self) -> None:
        self.now: Counter[Any] = Counter()
        self.most: Counter[Any] = Counter()

    async def visit(self, key: Any = None) -> None:
        self.now[key] += 1
        self.most[key] = max(self.most[key], self.now[key])
        await asyncio.sleep(0.002)
        self.now[key] -= 1


async def test_no_more_handlers_at_once_than_allowed(bell: Workbell) -> None:
    gauge = Gauge()

    @bell.job(concurrency=2)
    async def pool() -> None:
        await gauge.visit()

    @bell.job
    async def free() -> None: ...

    runs = bell.enqueue_many([*(pool.request() for _ in range(20)), *(free.request() for _ in range(60))])
    async with bell.running(concurrency=8):
        ended = [await bell.await_(run.id, timeout=60) for run in runs]
    assert {run.status for run in ended} == {Status.SUCCEEDED}
    assert gauge.most[None] == 2


async def test_a_key_has_a_line_of_its_own(bell: Workbell) -> None:
    gauge = Gauge()

    @bell.job(concurrency=1, concurrency_key="customer")
    async def charge(customer: int) -> None:
        await gauge.visit(customer)
        await gauge.visit("all")

    runs = bell.enqueue_many(charge.request(customer=number % 4) for number in range(40))
    assert {run.lane.key for run in runs} == {"0", "1", "2", "3"}
    async with bell.running(concurrency=8):
        ended = [await bell.await_(run.id, timeout=60) for run in runs]
    assert {run.status for run in ended} == {Status.SUCCEEDED}
    assert [gauge.most[key] for key in range(4)] == [1, 1, 1, 1]
    assert gauge.most["all"] > 1


async def test_a_rate_spreads_the_starts(store_url: str) -> None:
    """And nobody waits for a poll."""
    bell = Workbell(settings=Settings(url=store_url, **(QUICK | {"poll": 60.0})))

    @bell.job(rate="4/s")
    async def paced() -> None: ...

    claims: list[datetime] = []
    bell.host.bus.subscribe(lambda told: claims.extend(one.run.started_at for one in told if one.move is Move.START))
    runs = bell.enqueue_many(paced.request() for _ in range(10))
    async with bell.running():
        ended = [await bell.await_(run.id, timeout=30) for run in runs]
    bell.close()
    assert {run.status for run in ended} == {Status.SUCCEEDED}
    assert len(claims) == 10
    claims.sort()
    assert all(later - first >= timedelta(seconds=1) for first, later in zip(claims, claims[4:], strict=False))


async def test_a_pause_holds_what_was_claimed_and_has_not_begun(
    bell: Workbell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One slot, and a worker that holds more than it can execute: what waits in its hands goes back."""
    begun: list[int] = []
    gate = asyncio.Event()

    @bell.job
    async def work(number: int) -> None:
        begun.append(number)
        await gate.wait()

    hold_ahead(monkeypatch, 5)
    runs = bell.enqueue_many(work.request(number=number) for number in range(6))
    async with bell.running(concurrency=1):
        await asyncio.to_thread(until, lambda: len(bell.runs(status="running")) == 6, "all to be claimed")
        await bell.apause(job="work")
        await asyncio.to_thread(until, lambda: len(bell.runs(status="queued")) == 5, "five to be handed back")
        assert (len(begun), [run.attempt for run in bell.runs(status="queued")]) == (1, [0] * 5)
        gate.set()
        assert (await bell.await_(runs[begun[0]].id, timeout=60)).status is Status.SUCCEEDED
        await bell.aresume(job="work")
        ended = [await bell.await_(run.id, timeout=60) for run in runs]
    assert {(run.status, run.attempt) for run in ended} == {(Status.SUCCEEDED, 1)}
    assert sorted(begun) == list(range(6))


def test_only_what_is_paused_or_has_waited_too_long_is_handed_back() -> None:
    store = fresh_store()
    bell = Workbell(store=store, settings=Settings())

    @bell.job
    def plain() -> None: ...

    @bell.job(concurrency=1)
    def limited(ctx: Context) -> None: ...

    now = store.clock.now()

    def work(job: Any, queue: str, waited: float) -> Work:
        run = bell.request(job, {}, queue=queue).new.run
        return Work(run, job, claimed=store.clock.monotonic() - waited)

    works = [work(plain, "a", 0.5), work(plain, "b", 0), work(limited, "a", 0.5), work(limited, "a", 1.5)]
    works.append(work(plain, "a", 1.5))
    begun = work(plain, "b", 3)
    begun.started_at = now
    taken: list[Work] = []

    class Executors:
        def take_back(self, wanted: Any) -> list[Work]:
            return [one for one in works if wanted(one)]

    held = HeldRuns(store.clock)
    for one in (*works, begun):
        held.add(one)
    duty = HandBack(store, held, Executors(), lambda work, _outcome: taken.append(work), poll=1)
    bell.pause(queue="b")
    assert duty.step(now) == 0.5
    assert taken == [works[1], works[3], works[4]]
    taken.clear()
    held.drain(True)
    duty.step(now)
    assert taken == works, "nothing at all begins where it is drained"
    bell.close()


def test_drain_keeps_to_limits() -> None:
    clock = ManualClock()
    bell = Workbell(store=fresh_store(clock), settings=Settings())

    @bell.job(concurrency=1, rate="2/m")
    def paced() -> None: ...

    bell.enqueue_many(paced.request() for _ in range(5))
    assert len(drain(bell)) == 2
    assert drain(bell, until_idle=False) == []
    clock.advance(59)
    assert drain(bell) == []
    clock.advance(1)
    assert len(drain(bell, until_idle=False)) == 2
    bell.store.workers.put(worker_of("paced", now=clock.now()))
    assert bell.why(bell.runs(status="queued")[0].id) == (
        "A limit holds it back: 2 of job paced started in the last 60 s; the next may start in 60 s."
    )
    bell.pause(job="paced")
    clock.advance(60)
    assert drain(bell) == []
    bell.resume(job="paced")
    assert len(drain(bell)) == 1
    bell.close()


def test_the_limits_of_a_job_are_known_to_others(bell: Workbell) -> None:
    """An application that enqueues by name without the code takes the key from the store."""

    @bell.job(concurrency=1, concurrency_key="order.customer", rate="5/m", rate_key="order.customer")
    def charge(order: dict[str, int]) -> None: ...

    bell.store.jobs.put(bell.registry.declared_jobs(bell.store.clock, bell.tenant))
    other = Workbell(store=bell.store, settings=Settings())
    stored = bell.store.jobs.find("default", "charge")
    assert stored is not None
    assert stored.limits == charge.limits == Limits(1, "order.customer", "5/m", "order.customer")
    run = other.enqueue("charge", {"order": {"customer": 7}})
    late = other.enqueue("charge", {"order": {"customer": 8}}, delay=60)
    assert (run.lane.key, late.lane.key) == ("7", "8")
    assert bell.get(run.id).lane == run.lane
    assert other.retry(other.cancel(run.id).id).lane == run.lane
    other.runtime.waiter.close()


def test_a_tick_makes_a_run_in_the_lane_of_its_key() -> None:
    clock = ManualClock()
    bell = Workbell(store=fresh_store(clock), settings=Settings())

    @bell.job(concurrency=1, concurrency_key="customer")
    def charge(customer: int) -> None: ...

    bell.schedules.put("hourly", job="charge", every=3600, input={"customer": 7})
    clock.advance(3600)
    assert [run.lane.key for run in drain(bell)] == ["7"]
    bell.close()


def test_a_rate_that_was_changed_counts_at_once() -> None:
    """By a queue that has kept in mind how long the old one holds."""
    store = fresh_store(ManualClock())
    bell = Workbell(store=store, settings=Settings())

    @bell.job(rate="1/d")
    def paced() -> None: ...

    bell.enqueue_many(paced.request() for _ in range(5))
    claims, now = FairClaims(store), store.clock.now()
    old = Claimant("w", timedelta(seconds=30), lambda _lane: True, limits(bell.registry))
    assert len(claims.claim(old, 5, now)) == 1
    assert claims.claim(old, 5, now) == []
    new = old._replace(limits=lambda lane: limits_on(Limits(rate="3/d"), lane))
    assert len(claims.claim(new, 5, now)) == 2
    bell.close()
