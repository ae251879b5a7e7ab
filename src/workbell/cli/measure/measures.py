"""The measurements: each takes a store's URL and how many runs, and gives runs a second (or milliseconds)."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from workbell.cli.measure.processes import wait_for, workers
from workbell.cli.measure.raw import open_raw
from workbell.cli.measure.scene import clear, make_bell, make_job, some_left

THREADS = 32
BULK = 1000
LATENCY_RUNS = 300
LATENCY_GAP = 0.02

Advance = Callable[[], None]


def enqueue_one(url: str, runs: int) -> float:
    """One call after another, from one thread; each returns when its run is durable."""
    with make_bell(url) as bell:
        job = make_job(bell)
        job.enqueue(sent=0)  # connects, and makes the tables and the lane
        began = time.perf_counter()
        for _ in range(runs):
            job.enqueue(sent=0)
        took = time.perf_counter() - began
        clear(bell.store)
    return runs / took


def enqueue_threads(url: str, runs: int) -> float:
    """The same from 32 threads, as a web application would."""
    with make_bell(url) as bell, ThreadPoolExecutor(THREADS) as threads:
        job = make_job(bell)
        job.enqueue(sent=0)

        def some(count: int) -> None:
            for _ in range(count):
                job.enqueue(sent=0)

        share = max(runs // THREADS, 1)
        began = time.perf_counter()
        for done in [threads.submit(some, share) for _ in range(THREADS)]:
            done.result()
        took = time.perf_counter() - began
        clear(bell.store)
    return share * THREADS / took


def _fill(url: str, runs: int) -> float:
    """Enqueue in bulk, a thousand a call; how long it took."""
    with make_bell(url) as bell:
        job = make_job(bell)
        bell.store.check()
        began = time.perf_counter()
        for start in range(0, runs, BULK):
            bell.enqueue_many(job.request(sent=0) for _ in range(min(BULK, runs - start)))
        return time.perf_counter() - began


def enqueue_bulk(url: str, runs: int) -> float:
    took = _fill(url, runs)
    with make_bell(url) as bell:
        clear(bell.store)
    return runs / took


def drain(url: str, runs: int, processes: int = 1, kind: str = "engine") -> float:
    """From the first handler's start until the store has no unfinished run left; start-up is not counted."""
    _fill(url, runs)
    with make_bell(url) as bell:
        bell.store.check()
        with workers(kind, url, processes) as tallies:
            wait_for(lambda: sum(tally.count for tally in tallies) >= runs, "the runs to start")
            wait_for(lambda: not some_left(bell.store), "the runs to end")
            done = time.time_ns()
            first = min(tally.first for tally in tallies if tally.first)
        clear(bell.store)
    return runs / ((done - first) / 1e9)


def latency(url: str, runs: int = LATENCY_RUNS) -> list[float]:
    """Milliseconds from just before the enqueue to the handler's start in another, idle process; sorted."""
    with make_bell(url) as bell:
        job = make_job(bell)
        bell.store.check()
        with workers("engine", url, 1) as tallies:
            time.sleep(1)  # idle, so that a worker which only polls shows it
            for _ in range(runs):
                job.enqueue(sent=time.time_ns())
                time.sleep(LATENCY_GAP)
            wait_for(lambda: tallies[0].count >= runs, "the runs to start")
            found = sorted(tallies[0].latencies())
            wait_for(lambda: not some_left(bell.store), "the runs to end")
        clear(bell.store)
    return found


def percentile(ordered: list[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


# The same in raw SQL


def raw_one(url: str, runs: int) -> float:
    return _raw_insert(url, runs, 1)


def raw_bulk(url: str, runs: int) -> float:
    return _raw_insert(url, runs, BULK)


def _raw_insert(url: str, runs: int, batch: int) -> float:
    with make_bell(url) as bell:
        job = make_job(bell)
        job.enqueue(sent=0)
        requests = [job.request(sent=0).new for _ in range(runs)]
        raw = open_raw(url)
        took = raw.insert(requests, batch)
        raw.close()
        clear(bell.store)
    return runs / took


def raw_drain(url: str, runs: int, processes: int = 1) -> float:
    return drain(url, runs, processes, kind="raw")
