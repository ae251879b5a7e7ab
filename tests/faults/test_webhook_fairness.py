"""One dead endpoint with ten thousand deliveries waiting takes nothing from a healthy one that has work (C8)."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import timedelta

import pytest

from tests.support.hooks import Hooks
from tests.support.webhook_scene import HERE
from workbell import Run, Workbell
from workbell.claims.claiming import Claimant, FairClaims
from workbell.engine.consume import limits, serves
from workbell.engine.match_events import MatchEvents
from workbell.model import state
from workbell.model.event import Event
from workbell.model.ids import new_id
from workbell.model.state import Move
from workbell.notices.bus import Notice
from workbell.settings import Settings
from workbell.webhooks.limits import AT_ONCE

WAITING = 10_000
STARTS = 100
PLACES = 10
LEASE = timedelta(seconds=30)
WAIT = timedelta(hours=1)


@pytest.fixture
def hooks() -> Iterator[Hooks]:
    with Hooks() as hooks:
        yield hooks


@pytest.fixture
def bell(sql_store_url: str) -> Iterator[Workbell]:
    settings = Settings(url=sql_store_url, webhook_allow=HERE, grace=0, concurrency=PLACES)
    with Workbell(settings=settings) as bell:
        yield bell


def fill(bell: Workbell, type: str, count: int) -> None:  # noqa: A002
    """Events by the thousand, and the fan-out of an engine."""
    now = bell.store.clock.now()
    matching = MatchEvents(bell.store, bell.registry, bell.runtime.subscriptions, lambda _: None, 1)
    bell.store.events.add(
        [Event(new_id(), bell.tenant, type, "/tests", now, now, data_text="{}") for _ in range(count)]
    )
    while matching.fan_out_waiting(now):
        pass


def crowded(bell: Workbell, hooks: Hooks) -> tuple[str, str]:
    """The ids of a dead endpoint, whose line is long and was first, and of a healthy one."""
    dead, _ = bell.webhooks.add(hooks.url("/dead"), patterns="dead.*", timeout=30)
    healthy, _ = bell.webhooks.add(hooks.url("/healthy"), patterns="healthy.*")
    fill(bell, "dead.event", WAITING)
    fill(bell, "healthy.event", 15 * STARTS)
    waiting = {counts.lane.key: counts.queued for counts in bell.store.reports.counts()}
    assert waiting == {dead.id: WAITING, healthy.id: 15 * STARTS}
    return dead.id, healthy.id


def starts(bell: Workbell, names: Sequence[str], answers: bool, dead: str) -> Iterator[Run]:
    """Deliveries in the order in which workers start them, each worker with so many places.

    The healthy endpoint answers at once; the dead one fails at once, if it answers at all.
    """
    workers = [
        (FairClaims(bell.store), Claimant(name, LEASE, serves(bell.registry, None), limits(bell.registry)))
        for name in names
    ]
    held: Counter[str] = Counter()
    for claims, claimant in itertools.cycle(workers):
        now = bell.store.clock.now()
        free = PLACES - held[claimant.worker]
        runs = claims.claim(claimant, free, now, free)
        assert runs, "places are free, and the healthy endpoint has work"
        changes = []
        for run in runs:
            yield run
            if run.lane.key != dead:
                changes.append(state.succeed(run, now, result=None, keep=LEASE))
            elif answers:
                changes.append(state.retry(run, now, error="It answered 500.", reason="error", wait=WAIT))
            else:
                held[claimant.worker] += 1
        assert len(bell.store.runs.apply(changes)) == len(changes)


@pytest.mark.anyio
async def test_of_the_next_hundred_starts_at_least_45_are_for_the_healthy(bell: Workbell, hooks: Hooks) -> None:
    """Whether the dead one fails at once, also where it may fill every place there is, or never answers."""
    dead, healthy = await asyncio.to_thread(crowded, bell, hooks)
    for workers in (1, 3):
        for allowed in (None, 1000):
            await bell.webhooks.aupdate(dead, concurrency=allowed)
            bell.runtime.subscriptions.current()
            order = await asyncio.to_thread(next_starts, bell, workers, dead, True)
            assert Counter(order)[healthy] >= 45, order
            assert Counter(order)[dead] >= 45, order  # it may come back to life
            assert Counter(order[:20])[healthy] >= 8, order
    await bell.webhooks.aupdate(dead, concurrency=None)
    bell.runtime.subscriptions.current()
    order = await asyncio.to_thread(next_starts, bell, 3, dead, False)
    assert Counter(order) == {healthy: STARTS - AT_ONCE, dead: AT_ONCE}

    hooks.answer(500, path="/dead")
    order = await really_started(bell)
    assert Counter(order)[healthy] >= 45, order
    assert hooks.most["/dead"] <= AT_ONCE

    bell.store.subscribers.forget_health(dead)  # as if it had only now fallen silent
    hooks.hold("/dead")
    before = len(hooks.to("/dead"))
    order = await really_started(bell, lambda: hooks.await_for(before + AT_ONCE, "/dead"))
    assert Counter(order)[healthy] >= STARTS - AT_ONCE, order
    assert len(hooks.to("/dead")) == before + AT_ONCE
    assert hooks.most["/dead"] == AT_ONCE


def next_starts(bell: Workbell, workers: int, dead: str, answers: bool) -> list[str | None]:
    """The endpoints of the next hundred; what is held afterwards is given back."""
    names = [f"w{number}" for number in range(workers)]
    found = list(itertools.islice(starts(bell, names, answers, dead), STARTS))
    for name in names:
        bell.store.runs.apply([state.release(run, bell.store.clock.now()) for run in bell.store.runs.held_by(name)])
    return [run.lane.key for run in found]


async def really_started(bell: Workbell, also: Callable[[], Awaitable[object]] | None = None) -> list[str | None]:
    """The same by an engine and real receivers."""
    order: list[str | None] = []
    enough, loop = asyncio.Event(), asyncio.get_running_loop()

    def note(told: Sequence[Notice]) -> None:
        order.extend(one.run.lane.key for one in told if one.move is Move.START)
        if len(order) >= STARTS:
            loop.call_soon_threadsafe(enough.set)

    stop = bell.host.bus.subscribe(note)
    async with bell.running():
        await asyncio.wait_for(enough.wait(), 60)
        if also is not None:
            await also()
    stop()
    return order[:STARTS]
