"""huey on SQLite, its fastest durable setting. It takes a run out of the store before it works on it."""

from __future__ import annotations

import os
from collections.abc import Iterable

from huey import SqliteHuey

from rivals.hits import FOLDER, compute, hit

STORE, PACKAGES = "sqlite", ["huey"]
# Beside CPU-bound runs: as many threads as Workbell has slots, and the neighbour passes those that wait.
BESIDE_BUSY = int(os.environ.get("BENCH_THREADS", "0"))
THREADS = BESIDE_BUSY or 2
CONFIG = (
    f"WAL, fsync=True (synchronous=FULL), {THREADS} threads, polls every 10 to 100 ms (default 0.1 to 10 s), "
    "results off; pops before running"
)
huey = SqliteHuey("q", filename=str(FOLDER / "huey.db"), fsync=True, results=False)


@huey.task(name="noop", priority=1 if BESIDE_BUSY else None)
def noop(sent: int) -> None:
    hit(sent)


@huey.task(name="busy")
def busy(iterations: int) -> None:
    hit(0)
    compute(iterations)


def setup() -> None:
    huey.flush()


def enqueue(stamps: Iterable[int]) -> None:
    for stamp in stamps:
        noop(stamp)


def enqueue_busy(n: int, iterations: int) -> None:
    for _ in range(n):
        busy(iterations)


def worker() -> None:
    huey.create_consumer(
        workers=THREADS,
        worker_type="thread",
        periodic=False,
        initial_delay=0.01,
        backoff=1.15,
        max_delay=0.1,
        check_worker_health=False,
    ).run()


def pending() -> int:
    return int(huey.pending_count())
