"""Metrics: tallies of the workers, counts from the store, and request counts of this server.

Made when they are asked for, and cached for a second: each number is one read of the store, and none counts history.
Names of queues and jobs are free text, so only so many of each tenant are shown by name, and the rest is summed up.
"""

from __future__ import annotations

import asyncio
import platform
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from datetime import datetime
from heapq import nsmallest
from typing import NamedTuple

from workbell.client.local import LocalClient
from workbell.model.job import DELIVERY
from workbell.model.tally import BUCKETS, Tally
from workbell.model.worker import Worker
from workbell.stores.port import Counts, Store
from workbell.version import __version__

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
OTHER = "other"


class RequestCounts:
    """Requests by method, route and status. A path that no route has is counted under an empty name, and a method that
    nobody knows under `other`: what strangers send must not make the counters grow."""

    def __init__(self) -> None:
        self.busy = 0  # being answered at this moment
        self.requests: Counter[tuple[str, str, int]] = Counter()
        self.seconds: defaultdict[tuple[str, str], float] = defaultdict(float)

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        method = method if method in METHODS else OTHER
        self.requests[method, route, status] += 1
        self.seconds[method, route] += seconds


FRESH = 1.0  # seconds
MOST_CACHED = 100  # pages, of as many tenants
MOST_SHOWN = 1000  # queues of a tenant, and jobs in a queue, that are shown by name
MOST_BYTES = 64 * 1024  # of these names: those of a job in a queue stand in up to 24 lines, 1.5 MB
REST = ""  # the name of what is summed up: no queue and no job can have it

JOBS = 'Jobs and queues that are not shown by name are one series, of the job "" and the queue "".'
COUNTED = "Counts up to 100,000 queued runs of a job in a queue, and 100,000 scheduled runs."
QUEUES = 'Queues that are not shown by name are one series, of the queue "".'

Names = tuple[str, ...]  # values of labels: a queue, or a job and its queue


class MetricsScope(NamedTuple):
    """Tenant of the metrics; none for all of them, with a tenant label or without.

    `shared` is what all tenants share: slots of workers, requests, sockets, and the version.
    """

    tenant: str | None = None
    by_tenant: bool = False
    shared: bool = True


class Metrics:
    """Metrics pages by scope, cached for a second."""

    def __init__(self, client: LocalClient, measured: RequestCounts, sockets: Callable[[], int]) -> None:
        self._client = client
        self._measured = measured
        self._sockets = sockets
        self._lock = asyncio.Lock()
        self._pages: dict[MetricsScope, tuple[float, str]] = {}
        self._jobs = ShownNames()
        self._queues = ShownNames()

    async def page(self, view: MetricsScope) -> str:
        async with self._lock:  # simultaneous requests share one read
            clock = self._client.store.clock
            made_at, text = self._pages.get(view, (-FRESH, ""))
            if clock.monotonic() - made_at >= FRESH:
                server = _of_server(self._measured, self._sockets()) if view.shared else []
                text = await self._client.runtime.hop(self._read, view, server)
                if len(self._pages) >= MOST_CACHED:
                    self._pages.clear()
                self._pages[view] = (clock.monotonic(), text)
            return text

    def _read(self, view: MetricsScope, server: Sequence[Family]) -> str:
        """The page: what the store has, and the metrics of this process. On a thread, as it may be megabytes long."""
        store = self._client.store
        now = store.clock.now()
        totals = [one for one in store.tallies.totals() if view.tenant in (None, one.tenant)]
        every = store.reports.counts(None if view.shared else view.tenant)
        counts = [one for one in every if view.tenant in (None, one.lane.tenant)]
        agents = sum(agent.is_alive(now) for agent in store.agents.list(view.tenant))
        families = [
            *_of_runs(totals, self._jobs, view),
            *_of_queues(counts, totals, self._queues, view, now),
            *_of_workers(store, every if view.shared else None, now),
            Family("workbell_agents", "gauge", "Agents that were seen lately.", [Sample({}, agents)]),
        ]
        return written([*families, *server])


class ShownNames:
    """Which names of each tenant are shown: up to MOST_SHOWN, those with the most runs first.

    A name that was shown once is shown from then on. If it fell back into the rest, or rose out of it, the sum of the
    rest would jump or fall, and Prometheus takes a counter that falls for one that began anew.
    """

    def __init__(self) -> None:
        self._shown: dict[str, set[Names]] = defaultdict(set)
        self._bytes: dict[str, int] = defaultdict(int)

    def labels(self, runs: Mapping[tuple[str, Names], int], view: MetricsScope) -> dict[tuple[str, Names], Names]:
        """Values of labels for each tenant and its names, with so many runs: what is not shown has those of the rest.

        Without a label for the tenant, a name that is shown of one tenant is shown of all: what a series of that name
        says must be whole.
        """
        new: dict[str, list[tuple[int, Names]]] = defaultdict(list)
        for (tenant, names), count in runs.items():
            if len(self._shown[tenant]) < MOST_SHOWN and names not in self._shown[tenant]:
                new[tenant].append((-count, names))
        for tenant, listed in new.items():  # not `sorted`: of 30,000 names it would hold the GIL for 0.2 s
            for _, names in nsmallest(MOST_SHOWN, listed):
                self._add(tenant, names)
        if view.by_tenant:
            return {(tenant, names): (tenant, *self._or_rest(names, self._shown[tenant])) for tenant, names in runs}
        shown = set[Names]().union(*(self._shown[tenant] for tenant in {tenant for tenant, _ in runs}))
        return {(tenant, names): self._or_rest(names, shown) for tenant, names in runs}

    def _add(self, tenant: str, names: Names) -> None:
        shown, size = self._shown[tenant], sum(len(name.encode()) for name in names)
        if len(shown) < MOST_SHOWN and self._bytes[tenant] + size <= MOST_BYTES:
            shown.add(names)
            self._bytes[tenant] += size

    @staticmethod
    def _or_rest(names: Names, shown: Set[Names]) -> Names:
        return names if names in shown else (REST,) * len(names)


def _of_runs(totals: Sequence[Tally], shown: ShownNames, view: MetricsScope) -> list[Family]:
    """Attempts by job and queue; one that is retried is counted as retried, and timed."""
    ends: dict[Names, int] = defaultdict(int)
    taken: dict[Names, list[int]] = defaultdict(lambda: [0] * (len(BUCKETS) + 1))
    seconds: dict[Names, float] = defaultdict(float)
    waits: dict[Names, float] = defaultdict(float)
    deliveries: dict[str, int] = defaultdict(int)
    runs: dict[tuple[str, Names], int] = defaultdict(int)
    for one in totals:
        runs[one.tenant, (one.job, one.queue)] += one.count
    values_of = shown.labels(runs, view)
    names = (*(("tenant",) if view.by_tenant else ()), "job", "queue")
    for one in totals:
        values = values_of[one.tenant, (one.job, one.queue)]
        ends[(*values, one.status)] += one.count
        for bucket, count in enumerate(one.buckets):
            taken[values][bucket] += count
        seconds[values] += one.seconds
        waits[values] += one.wait
        if one.job == DELIVERY:
            deliveries[one.status] += one.count

    def labels(values: Sequence[str], *more: str) -> Labels:
        return dict(zip((*names, *more), values, strict=True))

    durations = [
        sample
        for values, counts in sorted(taken.items())
        if any(counts)  # runs that ended before they started have no duration, and an empty histogram costs 17 lines
        for sample in histogram(labels(values), BUCKETS, counts, seconds[values])
    ]
    waited = [
        sample
        for values, wait in sorted(waits.items())
        if any(taken[values])
        for sample in (Sample(labels(values), wait, "_sum"), Sample(labels(values), sum(taken[values]), "_count"))
    ]
    ended = [Sample(labels(values, "status"), count) for values, count in sorted(ends.items())]
    sent = [Sample({"status": status}, count) for status, count in sorted(deliveries.items())]
    return [
        Family("workbell_runs_total", "counter", f"Attempts of runs that ended, by how. {JOBS}", ended),
        Family(
            "workbell_run_duration_seconds", "histogram", f"From the call of the handler to its end. {JOBS}", durations
        ),
        Family(
            "workbell_run_wait_seconds",
            "summary",
            f"From when a run was due to the call of its handler. {JOBS}",
            waited,
        ),
        Family(
            "workbell_webhook_deliveries_total", "counter", "Attempts of webhook-delivery that ended, by how.", sent
        ),
    ]


def _of_queues(
    counts: Sequence[Counts], totals: Iterable[Tally], shown: ShownNames, view: MetricsScope, now: datetime
) -> list[Family]:
    """Queue depth and age; empty queues too, because a series that comes and goes is of no use."""
    runs: dict[tuple[str, Names], int] = defaultdict(int)
    for tally in totals:
        runs[tally.tenant, (tally.queue,)] += tally.count
    for one in counts:
        runs[one.lane.tenant, (one.lane.queue,)] += one.scheduled + one.queued + one.running
    values_of = shown.labels(runs, view)
    names = ("tenant", "queue") if view.by_tenant else ("queue",)
    numbers: dict[Names, list[int]] = {values: [0, 0, 0] for values in values_of.values()}
    ages: dict[Names, float] = dict.fromkeys(numbers, 0.0)
    for one in counts:
        values = values_of[one.lane.tenant, (one.lane.queue,)]
        found = (one.scheduled, one.queued, one.running)
        numbers[values] = [known + new for known, new in zip(numbers[values], found, strict=True)]
        if one.due_since is not None and not one.held:
            ages[values] = max(ages[values], (now - one.due_since).total_seconds())
    depth = [
        Sample({**dict(zip(names, values, strict=True)), "status": status}, number)
        for values, listed in sorted(numbers.items())
        for status, number in zip(("scheduled", "queued", "running"), listed, strict=True)
    ]
    oldest = [Sample(dict(zip(names, values, strict=True)), age) for values, age in sorted(ages.items())]
    return [
        Family("workbell_queue_depth", "gauge", f"Runs that wait or run, by status. {COUNTED} {QUEUES}", depth),
        Family(
            "workbell_queue_oldest_age_seconds",
            "gauge",
            "How long the first in the queue has been due; those paused or of a disabled definition do not count. "
            f"{QUEUES}",
            oldest,
        ),
    ]


def _of_workers(store: Store, every: Iterable[Counts] | None, now: datetime) -> list[Family]:
    """Workers and the scheduler; slots only with the counts of all tenants, because free ones tell what others do."""
    alive = [worker for worker in store.workers.list() if worker.is_alive(now)]
    next_check = store.schedules.next_check()
    lag = 0.0 if next_check is None else max((now - next_check).total_seconds(), 0.0)
    return [
        Family("workbell_workers", "gauge", "Workers that were seen lately.", [Sample({}, len(alive))]),
        *([] if every is None else [_slots(store, alive, every)]),
        Family("workbell_schedule_lag_seconds", "gauge", "How late the scheduler is.", [Sample({}, lag)]),
    ]


def _slots(store: Store, alive: Sequence[Worker], every: Iterable[Counts]) -> Family:
    slots = sum(worker.concurrency for worker in alive)
    busy = sum(one.running for one in every if one.lane.target is None)
    drained = [worker for worker in alive if worker.drained_at is not None]
    held = Counter(lease.worker for lease in store.runs.leases_of([worker.id for worker in drained])) if drained else {}
    unused = sum(max(worker.concurrency - held.get(worker.id, 0), 0) for worker in drained)
    states = [Sample({"state": "busy"}, busy), Sample({"state": "free"}, max(slots - busy - unused, 0))]
    return Family("workbell_worker_slots", "gauge", "How many runs they work on, and could besides.", states)


def _of_server(measured: RequestCounts, sockets: int) -> list[Family]:
    """Metrics of this process."""
    requests = [
        Sample({"method": method, "route": route, "status": str(status)}, count)
        for (method, route, status), count in sorted(measured.requests.items())
    ]
    times = [
        Sample({"method": method, "route": route}, seconds)
        for (method, route), seconds in sorted(measured.seconds.items())
    ]
    build = {"version": __version__, "python": platform.python_version()}
    return [
        Family("workbell_http_requests_total", "counter", "Requests that this server answered.", requests),
        Family("workbell_http_request_seconds_total", "counter", "How long their answers took, together.", times),
        Family("workbell_sockets", "gauge", "WebSockets that are open here.", [Sample({}, sockets)]),
        Family("workbell_build_info", "gauge", "Which Workbell this is.", [Sample(build, 1)]),
    ]


# The text format of Prometheus: a page of code, where a client library would hold numbers of its own in each process

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Labels = Mapping[str, str]


class Sample(NamedTuple):
    labels: Labels
    value: float
    suffix: str = ""


class Family(NamedTuple):
    """Samples that share a name, a kind (counter, gauge, histogram or summary) and a sentence about them."""

    name: str
    kind: str
    about: str
    samples: Sequence[Sample]


def histogram(labels: Labels, bounds: Sequence[float], counts: Sequence[int], total: float) -> list[Sample]:
    """From how many lie between two bounds, and beyond the last, as its cumulated buckets, sum and count."""
    upto, samples = 0, []
    for bound, count in zip((*bounds, float("inf")), counts, strict=True):
        upto += count
        samples.append(Sample({**labels, "le": _number(bound)}, upto, "_bucket"))
    return [*samples, Sample(labels, total, "_sum"), Sample(labels, upto, "_count")]


def written(families: Iterable[Family]) -> str:
    lines: list[str] = []
    for family in families:
        lines.append(f"# HELP {family.name} {_escaped(family.about, quotes=False)}")
        lines.append(f"# TYPE {family.name} {family.kind}")
        lines += [f"{family.name}{one.suffix}{_labels(one.labels)} {_number(one.value)}" for one in family.samples]
    return "\n".join(lines) + "\n"


def _labels(labels: Labels) -> str:
    listed = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{{{listed}}}" if listed else ""


def _escaped(text: str, *, quotes: bool = True) -> str:
    text = text.replace("\\", "\\\\").replace("\n", "\\n")
    return text.replace('"', '\\"') if quotes else text


def _number(value: float) -> str:
    if value == float("inf"):
        return "+Inf"
    return str(int(value)) if value == int(value) else repr(float(value))
