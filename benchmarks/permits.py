"""Transactions a run on PostgreSQL with many idle workers, without and with a Redis queue. `make bench` runs it.

`pg_stat_database` counts everything: enqueues, the work, and what idle workers do by themselves. Latency is from the
call of `enqueue` to the start of the handler. Alternating rounds; 2 cores are shared by all processes and both servers.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import quantiles
from typing import Any

import psutil
import psycopg

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.support.postgres import PostgresServer
from tests.support.redis_server import RedisServer
from workbell import Workbell
from workbell.handlers.job_function import JobFunction
from workbell.model.run import LIVE
from workbell.settings import Settings

APP = """
import time
from workbell import Workbell
bell = Workbell()

@bell.job
async def noop(at: float = 0) -> float:
    return time.time() - at
"""
SETTLE = 11.0  # seconds until an idle server process has added its counts to the statistics
COUNT = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"


@contextmanager
def workers(folder: str, settings: Settings, processes: int) -> Iterator[psutil.Process]:
    environment = os.environ | {
        "WORKBELL_URL": settings.url,
        "WORKBELL_QUEUE_URL": settings.queue_url,
        "WORKBELL_LOG_LEVEL": "warning",
    }
    command = [sys.executable, "-m", "workbell", "worker", "--app", "bench_app:bell", "--processes", str(processes)]
    process = subprocess.Popen(command, cwd=folder, env=environment)
    try:
        yield psutil.Process(process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


class Counter:
    """Transactions of the database since the last call, without its own."""

    def __init__(self, url: str) -> None:
        self._connection = psycopg.connect(url, autocommit=True)
        self._asked = 0
        self._last = self._read()

    def _read(self) -> int:
        self._asked += 1
        row = self._connection.execute(COUNT).fetchone()
        assert row is not None
        return int(row[0]) - self._asked

    def since(self) -> int:
        time.sleep(SETTLE)
        before, self._last = self._last, self._read()
        return self._last - before


def cpu(supervisor: psutil.Process) -> float:
    return sum(sum(one.cpu_times()[:2]) for one in [supervisor, *supervisor.children(recursive=True)])


def produce(job: JobFunction[..., Any], rate: float, seconds: float) -> list[str]:
    """Enqueue one run after the other; their ids."""
    made, next_at = [], time.monotonic()
    end = next_at + seconds
    while next_at < end:
        made.append(job.enqueue(at=time.time()).id)
        next_at += 1 / rate
        time.sleep(max(next_at - time.monotonic(), 0))
    return made


def measure(folder: str, url: str, queue_url: str, given: argparse.Namespace) -> None:
    settings = Settings(url=url, queue_url=queue_url)
    with Workbell(settings=settings) as bell, workers(folder, settings, given.workers) as supervisor:

        @bell.job
        async def noop(at: float = 0) -> float:
            return at

        bell.store.check()
        while len(bell.store.workers.list()) < given.workers:
            time.sleep(0.1)
        first = produce(noop, given.rate, 4)  # the first run of a process is slower: every process has had one
        time.sleep(SETTLE)
        counter = Counter(url)
        used = cpu(supervisor)
        time.sleep(given.seconds / 2)
        idle = counter.since() / (given.seconds / 2 + SETTLE)
        idle_cpu = (cpu(supervisor) - used) / (given.seconds / 2 + SETTLE)
        used = cpu(supervisor)
        made = produce(noop, given.rate, given.seconds)
        count = counter.since() - idle * SETTLE
        busy_cpu = (cpu(supervisor) - used) / len(made)
        while bell.runs(status=LIVE, limit=1):
            time.sleep(0.05)
        late = sorted(1000 * float(bell.get(run).result) for run in made)
        cuts = quantiles(late, n=100)
        at_first = sorted(1000 * float(bell.get(run).result) for run in first)
        raw, lean = count / len(made), (count - idle * given.seconds) / len(made)
        name = "Redis  " if queue_url.startswith("redis") else "store  "
        print(
            f"  {name} {raw:5.2f} transactions a run (without the idle rate of {idle:4.1f}/s: {lean:5.2f})   "
            f"p50 {cuts[49]:5.1f} ms, p99 {cuts[98]:6.1f} ms, most {late[-1]:6.1f} ms "
            f"(in the first 4 s {at_first[-1]:5.1f} ms)   "
            f"CPU: {1000 * busy_cpu:4.1f} ms a run, idle {100 * idle_cpu / given.workers:4.2f} % a worker",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=12)
    parser.add_argument("--rate", type=float, default=50, help="runs a second")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("queues", nargs="*", default=["store", "redis"], help="store, redis or both")
    given = parser.parse_args()
    postgres, redis = PostgresServer().start(), RedisServer().start()
    print(f"{given.workers} worker processes, {given.rate:g} runs/s for {given.seconds:g} s")
    try:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "bench_app.py").write_text(APP)
            for _ in range(given.rounds):
                for queue in given.queues:
                    url = redis.url() if queue == "redis" else "store://"
                    measure(folder, postgres.create_database(), url, given)
    finally:
        redis.remove()
        postgres.remove()


if __name__ == "__main__":
    main()
