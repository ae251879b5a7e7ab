"""PgQueuer on PostgreSQL. Sync functions run as its message says: in threads, by `asyncio.to_thread`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import asyncpg
import uvloop
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver
from pgqueuer.models import Job
from pgqueuer.queries import Queries

from rivals import database
from rivals.hits import POSTGRES, compute, hit

STORE, PACKAGES = "postgres", ["pgqueuer", "asyncpg", "uvloop"]
BATCH = 500
# Beside CPU-bound runs: as many threads as Workbell has slots, and the neighbour passes those that wait.
THREADS = int(os.environ.get("BENCH_THREADS", "0"))
PRIORITY = 1 if THREADS else 0
CONFIG = "asyncpg, uvloop (as its CLI), batch_size=500, completions buffered by the library, done rows moved to its log"
pending = database.Query("SELECT count(*) FROM pgqueuer")


async def _queries() -> Queries:
    return Queries(AsyncpgDriver(await asyncpg.connect(POSTGRES)))


def setup() -> None:
    async def install() -> None:
        await (await _queries()).install()

    database.reset()
    asyncio.run(install())


def enqueue(stamps: Iterable[int]) -> None:
    async def one_by_one() -> None:
        queries = await _queries()
        for stamp in stamps:
            await queries.enqueue("noop", str(stamp).encode(), PRIORITY)

    uvloop.run(one_by_one())


def enqueue_bulk(sizes: Iterable[int]) -> None:
    _bulk("noop", b"0", sizes)


def enqueue_busy(n: int, iterations: int) -> None:
    _bulk("busy", str(iterations).encode(), [n])


def _bulk(entrypoint: str, payload: bytes, sizes: Iterable[int]) -> None:
    async def in_bulk() -> None:
        queries = await _queries()
        for size in sizes:
            await queries.enqueue([entrypoint] * size, [payload] * size, [0] * size)

    uvloop.run(in_bulk())


def worker(limit: int = 0) -> None:
    """`limit` of CPU-bound runs that are taken at once; 0 takes all, and most of them wait for a thread."""

    async def work() -> None:
        queue = PgQueuer(AsyncpgDriver(await asyncpg.connect(POSTGRES)))

        @queue.entrypoint("noop")
        async def noop(job: Job) -> None:
            hit(int(job.payload or b"0"))

        if THREADS:
            asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(THREADS))

            def blocking(iterations: int) -> None:
                hit(0)
                compute(iterations)

            @queue.entrypoint("busy", concurrency_limit=limit)
            async def busy(job: Job) -> None:
                await asyncio.to_thread(blocking, int(job.payload or b"0"))

        await queue.run(batch_size=BATCH)

    uvloop.run(work())
