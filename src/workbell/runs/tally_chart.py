"""Chart data of finished runs: complete time steps are added up once, and cached.

A day of many jobs is a hundred thousand minutes to add up. Of all steps but the last ones nothing is to come, so they
are read once and then only what is new.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, Future
from datetime import datetime, timedelta
from typing import NamedTuple

from workbell.model.clock import EPOCH
from workbell.model.tally_chart import EndsOfJob, EndsOfStep, TallyChart
from workbell.process.fork_safety import remake_after_fork
from workbell.runs.tallies import WORDS
from workbell.stores.port import Store

MOST_STEPS = 120
STEPS = [60 * minutes for minutes in (1, 2, 5, 10, 15, 30, 60, 90)]  # seconds; the last is enough for a week
MOST_JOBS = 100
SETTLED = 120  # seconds after which nothing more is to come of a step
FRESH = 1800.0  # seconds for which steps are cached: a worker without a store for a while may write late
MOST_CACHED = 200
MOST_COUNTS = 500_000  # of jobs in steps, all together: some sixty megabytes

KINDS = (*WORDS.values(),)
Counts = dict[str, list[int]]  # by job: how many ended in each of these ways


class ChartQuery(NamedTuple):
    """Tenant, span and filter of a chart."""

    tenant: str
    minutes: int
    job: str | None
    queue: str | None


class CacheKey(NamedTuple):
    """Tenant, step and filter of cached steps."""

    tenant: str
    step: int  # seconds
    job: str | None
    queue: str | None


class CachedSteps:
    """Steps from `first` to before `end` that are over."""

    def __init__(self) -> None:
        self.lock = threading.Lock()  # held while they are read: only one thread reads what is new
        self.read_at = -FRESH
        self.first = self.end = 0
        self.steps: dict[int, Counts] = {}
        self.size = 0


class TallyCharts:
    """Cache of chart data of all tenants, shared by the threads and event loops of a process."""

    def __init__(self, store: Callable[[], Store]) -> None:
        self._store = store
        self.make_process_state()
        remake_after_fork(self)

    def make_process_state(self) -> None:
        self._lock = threading.Lock()  # of both dicts
        self._cached: dict[CacheKey, CachedSteps] = {}
        self._reads: dict[ChartQuery, Future[TallyChart]] = {}

    async def aread(self, asked: ChartQuery, threads: Executor) -> TallyChart:
        """`read` on a thread. Simultaneous callers that ask for the same share one read, and so one thread."""
        with self._lock:
            reading = self._reads.get(asked)
            if reading is None:
                reading = self._reads[asked] = threads.submit(self.read, asked)
                reading.add_done_callback(lambda _: self._reads.pop(asked, None))
        import asyncio

        return await asyncio.shield(asyncio.wrap_future(reading))

    def read(self, asked: ChartQuery) -> TallyChart:
        """Every step of the last minutes, and the jobs of them."""
        store = self._store()
        key = CacheKey(asked.tenant, step_of(asked.minutes), asked.job, asked.queue)
        now, step = store.clock.now(), key.step
        first, last = index_of(now - timedelta(minutes=asked.minutes), step), index_of(now, step)
        cached = self._cached_of(key)
        with cached.lock:
            if time.monotonic() - cached.read_at > FRESH or first < cached.first or first > cached.end:
                cached.steps, cached.first, cached.end, cached.read_at = {}, first, first, time.monotonic()
            steps = cached.steps | _read(store, key, cached.end)
            settled = min(index_of(now - timedelta(seconds=SETTLED), step), last)
            cached.first = max(cached.first, last - 2 * MOST_STEPS)
            cached.end = max(cached.end, settled)
            cached.steps = {index: counts for index, counts in steps.items() if cached.first <= index < cached.end}
            cached.size = sum(map(len, cached.steps.values()))
        with self._lock:
            if sum(one.size for one in self._cached.values()) > MOST_COUNTS:
                self._cached.clear()
        return _chart(steps, first, now, step)

    def _cached_of(self, key: CacheKey) -> CachedSteps:
        with self._lock:
            cached = self._cached.get(key)
            if cached is None:
                if len(self._cached) >= MOST_CACHED:
                    self._cached.clear()
                cached = self._cached[key] = CachedSteps()
            return cached


def _chart(steps: dict[int, Counts], first: int, now: datetime, step: int) -> TallyChart:
    shown = {index: steps.get(index, {}) for index in range(first, index_of(now, step) + 1)}
    return TallyChart(
        since=time_of(first, step),
        until=now,
        step=step,
        items=tuple(
            EndsOfStep(at=time_of(index, step), **_by_kind(_sum(counts.values()))) for index, counts in shown.items()
        ),
        jobs=_jobs(shown.values()),
    )


def step_of(minutes: int) -> int:
    """The shortest step with which there are not too many; one more, because neither end need be a step's."""
    return next(step for step in STEPS if -(-minutes * 60 // step) < MOST_STEPS)


def index_of(time: datetime, step: int) -> int:
    return (time - EPOCH) // timedelta(seconds=step)


def time_of(index: int, step: int) -> datetime:
    return EPOCH + timedelta(seconds=index * step)


def _read(store: Store, key: CacheKey, first: int) -> dict[int, Counts]:
    """Read the tallies from a step on."""
    until = store.clock.now() + timedelta(days=1)  # another's clock may be ahead, but not by so much
    since = time_of(first, key.step)
    found = store.tallies.sum(key.tenant, since=since, until=until, step=key.step, job=key.job, queue=key.queue)
    steps: dict[int, Counts] = {}
    for index, job, status, count in found:
        if status in KINDS:
            counts = steps.setdefault(index, {}).setdefault(job, [0] * len(KINDS))
            counts[KINDS.index(status)] += count
    return steps


def _jobs(steps: Iterable[Counts]) -> tuple[EndsOfJob, ...]:
    """Jobs of the chart: those with most failures first, then those with most runs."""
    sums: Counts = {}
    for counts in steps:
        for job, numbers in counts.items():
            known = sums.get(job)
            sums[job] = list(numbers) if known is None else [a + b for a, b in zip(known, numbers, strict=True)]
    shown = [EndsOfJob(job=job, **_by_kind(numbers)) for job, numbers in sums.items()]
    shown.sort(key=lambda one: (-one.failed, -one.succeeded - one.canceled - one.failed, one.job))
    return tuple(shown[:MOST_JOBS])


def _sum(counts: Iterable[Sequence[int]]) -> list[int]:
    return [sum(numbers) for numbers in zip(*counts, strict=True)] or [0] * len(KINDS)


def _by_kind(numbers: Sequence[int]) -> dict[str, int]:
    return dict(zip(KINDS, numbers, strict=True))
