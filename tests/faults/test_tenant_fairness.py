"""A tenant's backlog starves nobody: starts are shared out by weight, and limits of a tenant hold (E6)."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import timedelta

import pytest

from tests.support.waiting import until
from workbell import Run, Workbell
from workbell.claims.claiming import HEADS, Claimant, FairClaims
from workbell.model.request import Request, plain_request
from workbell.model.run import Lane
from workbell.model.state import Move
from workbell.notices.bus import Notice
from workbell.settings import Settings

WAITING = 100_000 if os.environ.get("WORKBELL_SOAK") else 10_000
STARTS = 100
DEADLINE = 30.0


@pytest.fixture
def bell(sql_store_url: str) -> Iterator[Workbell]:
    with Workbell(settings=Settings(url=sql_store_url, grace=0, concurrency=10)) as bell:

        @bell.job
        def work() -> None: ...

        yield bell


def fill(bell: Workbell, tenant: str, count: int) -> None:
    bell.store.check()
    now = bell.store.clock.now()
    lane = Lane(tenant, "default", "work")
    for start in range(0, count, 5000):
        batch = min(5000, count - start)
        bell._services.write([Request(plain_request(lane, None, now)) for _ in range(batch)])


async def starts_of(bell: Workbell, count: int) -> list[Run]:
    """The first runs that a real engine starts, in that order."""
    started: list[Run] = []
    enough = threading.Event()

    def hear(notices: Sequence[Notice]) -> None:
        started.extend(notice.run for notice in notices)
        if len(started) >= count:
            enough.set()

    stop = bell.host.bus.subscribe(hear, [Move.START])
    try:
        async with bell.running():
            assert await asyncio.to_thread(enough.wait, DEADLINE), f"only {len(started)} were started"
    finally:
        stop()
    return started[:count]


@pytest.mark.anyio
async def test_a_backlog_of_one_tenant_leaves_the_other_its_half(bell: Workbell) -> None:
    await asyncio.to_thread(fill, bell, "large", WAITING)
    await asyncio.to_thread(fill, bell, "small", 50)
    order = [run.tenant for run in await starts_of(bell, STARTS)]
    assert Counter(order)["small"] >= 45, order
    assert Counter(order[:20])["small"] >= 8, order


@pytest.mark.anyio
async def test_starts_follow_the_weights_and_a_limit_holds(bell: Workbell) -> None:
    bell.tenants.put("heavy", weight=3)
    for tenant in ("heavy", "light"):
        await asyncio.to_thread(fill, bell, tenant, WAITING)  # more than are executed until the worker has stopped
    order = [run.tenant for run in await starts_of(bell, 4 * STARTS)]
    assert abs(Counter(order)["heavy"] - 3 * STARTS) <= 10, Counter(order)

    bell.tenants.put("heavy", rate="20/h")
    order = [run.tenant for run in await starts_of(bell, STARTS)]
    assert Counter(order)["heavy"] <= 20, Counter(order)
    heavy = bell.for_tenant("heavy")
    (waiting,) = heavy.runs(status="queued", limit=1)  # the newest
    async with bell.running():  # a stop hands back what it claimed, so a few more may start before the limit holds
        await asyncio.to_thread(until, lambda: "of tenant heavy started" in heavy.why(waiting.id), "the reason")


def test_a_tenant_with_very_many_lanes_hides_nobody(bell: Workbell) -> None:
    """More lanes than one look shows, almost all of them one tenant's; a single place, and one of many lanes."""
    bell.store.check()
    now = bell.store.clock.now()
    lanes = [Lane("large", "default", "work", None, str(number)) for number in range(2 * HEADS)]
    bell._services.write([Request(plain_request(lane, None, now)) for lane in lanes])
    fill(bell, "small", 50)
    for places in (1, 10):
        claims, order = FairClaims(bell.store), []
        claimant = Claimant("one", timedelta(seconds=30), lambda lane: True)
        while len(order) < 40:
            order += [run.tenant for run in claims.claim(claimant, places, bell.store.clock.now())]
        assert Counter(order)["small"] >= 18, Counter(order)


def test_no_more_than_its_concurrency_runs_of_a_tenant_are_claimed(bell: Workbell) -> None:
    """Whatever their jobs and whoever claims: counted from live leases, under the limit's own lock."""
    bell.tenants.put("narrow", concurrency=3)
    fill(bell, "narrow", 20)
    other = Lane("narrow", "default", "other")
    now = bell.store.clock.now()
    bell._services.write([Request(plain_request(other, None, now)) for _ in range(20)])
    fill(bell, "wide", 20)
    taken = []
    for name in ("one", "two", "three"):
        claims = FairClaims(bell.store)
        claimant = Claimant(name, timedelta(seconds=30), lambda lane: True)
        taken += claims.claim(claimant, 10, bell.store.clock.now())
    assert Counter(run.tenant for run in taken) == {"narrow": 3, "wide": 20}
