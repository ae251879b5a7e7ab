"""Supervised workers: what they cost while idle, and what a second one brings. `make bench` runs it.

Everything through the command line, as a user starts it: `workbell worker --processes N`.
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

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.support.postgres import PostgresServer
from workbell import Workbell
from workbell.model.run import LIVE

APP = """
import time
from workbell import Workbell
bell = Workbell()

@bell.job
def nap() -> None:
    time.sleep(0.005)

@bell.job
async def noop() -> None: ...
"""


@contextmanager
def supervised(folder: str, url: str, processes: int) -> Iterator[psutil.Process]:
    environment = os.environ | {"WORKBELL_URL": url, "WORKBELL_LOG_LEVEL": "warning"}
    command = [sys.executable, "-m", "workbell", "worker", "--app", "bench_app:bell", "--processes", str(processes)]
    process = subprocess.Popen(command, cwd=folder, env=environment)
    try:
        yield psutil.Process(process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def workers(supervisor: psutil.Process) -> list[psutil.Process]:
    return [child for child in supervisor.children(recursive=True) if child.name().startswith("workbell worker")]


def wait_for(supervisor: psutil.Process, bell: Workbell, count: int) -> None:
    while len(workers(supervisor)) < count or len(bell.store.workers.list()) < count:
        time.sleep(0.05)


def idle(folder: str, url: str, bell: Workbell, seconds: float = 10) -> None:
    with supervised(folder, url, 2) as supervisor:
        wait_for(supervisor, bell, 2)
        time.sleep(3)
        everybody = [supervisor, *supervisor.children(recursive=True)]
        before = {process.pid: sum(process.cpu_times()[:2]) for process in everybody}
        time.sleep(seconds)
        for process in everybody:
            used = (sum(process.cpu_times()[:2]) - before[process.pid]) / seconds
            memory = process.memory_info().rss / 1e6
            print(f"  idle: {process.name():18} {used * 100:5.2f} % of a core, {memory:5.1f} MB", flush=True)


def work_off(folder: str, url: str, bell: Workbell, job: str, count: int, processes: int) -> float:
    """Runs a second, from the moment the workers are there until the last run has ended."""
    bell.pause(job=job)
    bell.enqueue_many([(job, {})] * count)
    with supervised(folder, url, processes) as supervisor:
        wait_for(supervisor, bell, processes)
        bell.resume(job=job)
        began = time.perf_counter()
        while bell.runs(status=LIVE, limit=1):
            time.sleep(0.02)
        return count / (time.perf_counter() - began)


def measure(url: str, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "bench_app.py").write_text(APP)
        with Workbell(url) as bell:

            @bell.job
            def nap() -> None: ...

            @bell.job
            async def noop() -> None: ...

            bell.store.check()
            bell.store.jobs.put(bell.registry.declared_jobs(bell.store.clock, bell.tenant))
            idle(folder, url, bell)
            for job, count in (("nap", 8000), ("noop", 20_000)):
                for _ in range(rounds):
                    one, two = (work_off(folder, url, bell, job, count, processes) for processes in (1, 2))
                    print(
                        f"  {job:5} one worker {one:7,.0f}/s   two {two:7,.0f}/s   {two / one:.2f} x",
                        flush=True,
                    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("stores", nargs="*", default=["sqlite", "postgres"], help="sqlite, postgres or both")
    given = parser.parse_args()
    if "sqlite" in given.stores:
        with tempfile.TemporaryDirectory() as folder:
            print("SQLite, supervised workers")
            measure(f"sqlite:///{folder}/bench.db", given.rounds)
    if "postgres" in given.stores:
        server = PostgresServer().start()
        try:
            print("PostgreSQL, supervised workers")
            measure(server.create_database(), given.rounds)
        finally:
            server.remove()


if __name__ == "__main__":
    main()
