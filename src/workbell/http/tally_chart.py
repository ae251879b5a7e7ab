"""Chart data of finished runs: complete time steps are added up once, and cached.

A day of many jobs is a hundred thousand minutes to add up. Of all steps but the last ones nothing is to come, so they
are read once and then only what is new.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from workbell.client.local import LocalClient
from workbell.model.clock import EPOCH
from workbell.runs.tallies import WORDS

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
    """Tenant, step and filter of a chart."""

    tenant: str
    step: int
    job: str | None
    queue: str | None


class ChartCache:
    """Steps from `first` to before `end` that are over."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()  # simultaneous requests share one read
        self.read_at = -FRESH
        self.first = self.end = 0
        self.steps: dict[int, Counts] = {}
        self.size = 0


class TallyChart:
    """Cache of chart data of all tenants, for one event loop."""

    def __init__(self) -> None:
        self._cached: dict[ChartQuery, ChartCache] = {}

    async def read(self, client: LocalClient, minutes: int, job: str | None, queue: str | None) -> dict[str, Any]:
        """Every step of the last minutes, and the jobs of them."""
        step = step_of(minutes)
        now = client.store.clock.now()
        first, last = index_of(now - timedelta(minutes=minutes), step), index_of(now, step)
        asked = ChartQuery(client.tenant, step, job, queue)
        cached = self._cached.get(asked)
        if cached is None:
            if len(self._cached) >= MOST_CACHED:
                self._cached.clear()
            cached = self._cached[asked] = ChartCache()
        async with cached.lock:
            if time.monotonic() - cached.read_at > FRESH or first < cached.first or first > cached.end:
                cached.steps, cached.first, cached.end, cached.read_at = {}, first, first, time.monotonic()
            new = await client.runtime.hop(_read, client, asked, cached.end)
            steps = cached.steps | new
            settled = min(index_of(now - timedelta(seconds=SETTLED), step), last)
            cached.first = max(cached.first, last - 2 * MOST_STEPS)
            cached.end = max(cached.end, settled)
            cached.steps = {index: counts for index, counts in steps.items() if cached.first <= index < cached.end}
            cached.size = sum(map(len, cached.steps.values()))
        if sum(one.size for one in self._cached.values()) > MOST_COUNTS:
            self._cached.clear()
        return await client.runtime.hop(_shown, steps, first, now, step)


def _shown(steps: dict[int, Counts], first: int, now: datetime, step: int) -> dict[str, Any]:
    """On a thread: of a thousand jobs it is a hundred thousand numbers."""
    shown = {index: steps.get(index, {}) for index in range(first, index_of(now, step) + 1)}
    return {
        "since": time_of(first, step),
        "until": now,
        "step": step,
        "items": [{"at": time_of(index, step)} | _as_dict(_sum(counts.values())) for index, counts in shown.items()],
        "jobs": _jobs(shown.values()),
    }


def step_of(minutes: int) -> int:
    """The shortest step with which there are not too many; one more, because neither end need be a step's."""
    return next(step for step in STEPS if -(-minutes * 60 // step) < MOST_STEPS)


def index_of(time: datetime, step: int) -> int:
    return (time - EPOCH) // timedelta(seconds=step)


def time_of(index: int, step: int) -> datetime:
    return EPOCH + timedelta(seconds=index * step)


def _read(client: LocalClient, asked: ChartQuery, first: int) -> dict[int, Counts]:
    """Read the tallies from a step on."""
    store = client.store
    until = store.clock.now() + timedelta(days=1)  # another's clock may be ahead, but not by so much
    found = store.tallies.sum(
        asked.tenant,
        since=time_of(first, asked.step),
        until=until,
        step=asked.step,
        job=asked.job,
        queue=asked.queue,
    )
    steps: dict[int, Counts] = {}
    for index, job, status, count in found:
        if status in KINDS:
            counts = steps.setdefault(index, {}).setdefault(job, [0] * len(KINDS))
            counts[KINDS.index(status)] += count
    return steps


def _jobs(steps: Any) -> Sequence[dict[str, Any]]:
    """Jobs of the chart: those with most failures first, then those with most runs."""
    sums: Counts = {}
    for counts in steps:
        for job, numbers in counts.items():
            known = sums.get(job)
            sums[job] = list(numbers) if known is None else [a + b for a, b in zip(known, numbers, strict=True)]
    shown = [{"job": job} | _as_dict(numbers) for job, numbers in sums.items()]
    shown.sort(key=lambda one: (-one["failed"], -one["succeeded"] - one["canceled"] - one["failed"], one["job"]))
    return shown[:MOST_JOBS]


def _sum(counts: Any) -> list[int]:
    return [sum(numbers) for numbers in zip(*counts, strict=True)] or [0] * len(KINDS)


def _as_dict(numbers: Sequence[int]) -> dict[str, Any]:
    return dict(zip(KINDS, numbers, strict=True))
