"""Workbell on any store: a no-op job and a CPU-bound one, enqueued and worked on with the shipped defaults."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import Any

from rivals.hits import compute, hit
from workbell import Workbell
from workbell.settings import Settings

CONFIG = "shipped defaults: concurrency 10, lease 30 s, arguments checked at both ends, finished runs kept"
BESIDE_BUSY = bool(os.environ.get("BENCH_THREADS"))  # the neighbour passes CPU-bound runs that wait
LOST = """
SELECT (SELECT coalesce(sum(losses), 0) FROM workbell_runs) + (SELECT coalesce(sum(losses), 0) FROM workbell_history)
"""


def define(url: str) -> dict[str, Any]:
    """The names that a peer's module holds."""
    lease = os.environ.get("BENCH_LEASE")
    bell = Workbell(settings=Settings(url=url, lease=float(lease))) if lease else Workbell(url)

    @bell.job(**({"priority": 1} if BESIDE_BUSY else {}))
    async def noop(sent: int) -> None:
        hit(sent)

    @bell.job
    def busy(iterations: int) -> None:
        hit(0)
        compute(iterations)

    def enqueue(stamps: Iterable[int]) -> None:
        for stamp in stamps:
            noop.enqueue(sent=stamp)

    def enqueue_bulk(sizes: Iterable[int]) -> None:
        for size in sizes:
            bell.enqueue_many(noop.request(sent=0) for _ in range(size))

    def enqueue_busy(n: int, iterations: int) -> None:
        bell.enqueue_many(busy.request(iterations=iterations) for _ in range(n))

    def worker() -> None:
        bell.run()

    found = {"URL": url, "bell": bell, "noop": noop, "enqueue": enqueue, "enqueue_bulk": enqueue_bulk}
    return found | {"enqueue_busy": enqueue_busy, "worker": worker}


def supervise(app: str, command: str, processes: int) -> None:
    """Become `workbell worker --processes N` or `workbell start --processes N`, with the app of a peer's module."""
    os.environ["WORKBELL_LOG_LEVEL"] = "warning"
    arguments = ["-m", "workbell", command, "--app", f"{app}:bell", "--processes", str(processes)]
    if command == "start":
        arguments += ["--port", "0"]  # a free one
    os.execv(sys.executable, [sys.executable, *arguments])
