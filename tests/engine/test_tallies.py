"""Tallies: what ended, how long it took and had waited, added up by each process and written now and then."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from tests.support.fresh_store import fresh_store
from tests.support.waiting import until
from workbell import Context, Retry, Snooze, Workbell
from workbell.errors import StoreUnavailable
from workbell.model import state
from workbell.model.clock import EPOCH, ManualClock
from workbell.model.ids import new_id
from workbell.model.run import Lane, Run, Status
from workbell.model.state import Transition
from workbell.model.tally import BUCKETS, Tally
from workbell.runs.tallies import PACE, Sums, Tallies
from workbell.settings import Settings
from workbell.stores.port import Store
from workbell.stores.sqlite.store import SqliteStore

DAY = timedelta(days=1)


@pytest.fixture
def store(clock: ManualClock) -> SqliteStore:
    return fresh_store(clock)


@pytest.fixture
def tallies(store: SqliteStore) -> Tallies:
    tallies = Tallies(lambda: store)
    tallies.gather(store.clock, lambda: None)
    return tallies


def running(clock: ManualClock, job: str = "send", **fields: Any) -> Run:
    """A run that was claimed just now."""
    now, lane = clock.now(), Lane("default", "mail", job)
    return Run(new_id(), lane, Status.RUNNING, 0, now, now, now, attempt=1, token=1, started_at=now, **fields)


def total(store: Store) -> dict[tuple[str, str], Tally]:
    return {(one.job, one.status): one for one in store.tallies.totals()}


def test_what_is_told_of_an_end(store: SqliteStore, tallies: Tallies, clock: ManualClock) -> None:
    run = running(clock)
    clock.advance(2)
    started = clock.now()
    clock.advance(0.25)
    tallies.moved([(run, state.succeed(run, clock.now(), result=None, keep=DAY, started_at=started))])
    clock.advance(40)
    tallies.moved([(run, state.succeed(run, clock.now(), result=None, keep=DAY, started_at=started))])
    tallies.flush()
    (one,) = store.tallies.totals()
    assert (one.tenant, one.queue, one.job, one.status, one.count) == ("default", "mail", "send", "succeeded", 2)
    assert (one.seconds, one.wait) == (pytest.approx(40.5), pytest.approx(4))
    took = dict(zip((*BUCKETS, None), one.buckets, strict=True))
    assert {bound: count for bound, count in took.items() if count} == {0.25: 1, 60.0: 1}
    minutes = [one for page in store.tallies.export() for one in page if one.minute != EPOCH]
    assert sum(minute.count for minute in minutes) == 2
    assert all(minute.minute.second == minute.minute.microsecond == 0 for minute in minutes)


def test_no_sum_ever_shrinks(store: SqliteStore, tallies: Tallies, clock: ManualClock) -> None:
    """Also if the store's time is set back between a start and its end: counters that fall are taken for a restart."""
    run, ended = running(clock), clock.now()
    tallies.moved([(run, state.succeed(run, ended, result=None, keep=DAY, started_at=ended + timedelta(seconds=3)))])
    tallies.flush()
    (one,) = store.tallies.totals()
    assert (one.count, one.seconds, one.buckets[0]) == (1, 0.0, 1)


def test_ways_to_end(store: SqliteStore, tallies: Tallies, clock: ManualClock) -> None:
    run, now = msgspec.structs.replace(running(clock), started_at=None), clock.now()
    lost = state.lose(running(clock, alone=True, crashes=2), now, keep=DAY)
    changes: list[Transition] = [
        state.succeed(run, now, result=None, keep=DAY),
        state.fail(run, now, error="E", reason="error", keep=DAY),
        state.retry(run, now, error="E", reason="error", wait=DAY),
        state.cancel(run, now, reason="r", keep=DAY),
        lost,
        state.lose(run, now, keep=DAY),
        state.snooze(run, now, wait=DAY, reason=None),
        state.release(run, now),
    ]
    assert lost.status is Status.FAILED
    tallies.moved([(run, change) for change in changes])
    tallies.flush()
    found = {status: one.count for (_, status), one in total(store).items()}
    assert found == {"succeeded": 1, "failed": 2, "retried": 1, "canceled": 1}
    assert all((one.seconds, one.wait, sum(one.buckets)) == (0, 0, 0) for one in store.tallies.totals())


def test_a_lane_that_is_there_twice_is_one_sum(store: SqliteStore, tallies: Tallies, clock: ManualClock) -> None:
    """In the memory store every run has a lane of its own."""
    runs = [running(clock) for _ in range(3)]
    tallies.moved([(run, state.succeed(run, clock.now(), result=None, keep=DAY)) for run in runs])
    tallies.flush()
    assert [one.count for one in store.tallies.totals()] == [3]


def test_it_writes_only_if_there_is_something(
    store: SqliteStore, tallies: Tallies, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes: list[int] = []
    add = store.tallies.add
    monkeypatch.setattr(store.tallies, "add", lambda new: writes.append(len(new)) or add(new))  # type: ignore[func-returns-value]
    woken: list[int] = []
    tallies.gather(clock, lambda: woken.append(1))
    assert tallies.step(clock.now()) is None
    run = running(clock)
    ended = (run, state.succeed(run, clock.now(), result=None, keep=DAY))
    tallies.moved([(run, state.release(run, clock.now()))])
    assert (tallies.step(clock.now()), woken) == (None, [])
    tallies.moved([ended])
    clock.advance(1)
    tallies.moved([ended])
    assert (tallies.step(clock.now()), woken) == (pytest.approx(PACE - 1), [1])
    assert writes == []
    clock.advance(PACE - 1)
    assert tallies.step(clock.now()) is None
    assert tallies.step(clock.now()) is None
    assert (writes, total(store)["send", "succeeded"].count) == ([1], 2)


def test_what_could_not_be_written_is_written_later(
    store: SqliteStore, tallies: Tallies, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(_new: object) -> None:
        raise StoreUnavailable("gone")

    run = running(clock)
    ended = (run, state.succeed(run, clock.now(), result=None, keep=DAY))
    tallies.moved([ended])
    with monkeypatch.context() as broken:
        broken.setattr(store.tallies, "add", away)
        with pytest.raises(StoreUnavailable):
            tallies.flush()
    assert tallies.step(clock.now()) is not None
    tallies.moved([ended])
    tallies.flush()
    assert total(store)["send", "succeeded"].count == 2


def test_an_empty_sum_is_nothing() -> None:
    assert (bool(Sums()), Sums().tallies()) == (False, [])


@pytest.mark.anyio
async def test_an_engine_counts_what_it_ends_and_verbs_do(sqlite_url: str) -> None:
    """Written at the stop at the latest."""
    bell = Workbell(settings=Settings(url=sqlite_url, poll=0.02))
    failing = iter([True, False])

    @bell.job(retry=Retry(attempts=2, delay=0.01), queue="mail")
    async def tried(ctx: Context) -> Snooze | None:
        if next(failing):
            raise ValueError("bad")
        return None

    @bell.job(retry=Retry(attempts=1))
    def broken() -> None:
        raise ValueError("bad")

    async with bell.running():
        for run in (await tried.aenqueue(), await broken.aenqueue()):
            await bell.await_(run.id, timeout=30)
        await bell.acancel((await broken.options(delay=60).aenqueue()).id)
    later = broken.options(delay=60).enqueue()
    bell.cancel(later.id)  # in a process without an engine
    await asyncio.to_thread(until, lambda: len(total(bell.store)) == 4, "all tallies")
    assert {place: one.count for place, one in total(bell.store).items()} == {
        ("tried", "retried"): 1,
        ("tried", "succeeded"): 1,
        ("broken", "failed"): 1,
        ("broken", "canceled"): 2,
    }
    assert sum(total(bell.store)["tried", "succeeded"].buckets) == 1
    bell.close()
