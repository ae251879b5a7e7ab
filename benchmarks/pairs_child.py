"""One measurement of `pairs.py`, in a process of its own: enqueue, drain or latency, against the store of a URL."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import psutil

from workbell import Workbell

GAP = 0.01  # seconds between the runs of a latency
WARM = 200  # runs before the measured ones
statements = 0


def count_statements() -> None:
    """Count what SQLite executes, on every connection."""
    plain = sqlite3.connect

    def note(_: str) -> None:
        global statements
        statements += 1

    def connect(*args: Any, **more: Any) -> sqlite3.Connection:
        connection = plain(*args, **more)
        connection.set_trace_callback(note)
        return connection

    sqlite3.connect = connect  # type: ignore[assignment]


class Meter:
    """CPU time and statements of this process and of PostgreSQL's, since it was made."""

    def __init__(self, url: str) -> None:
        self._connection: Any = None
        self._server: psutil.Process | None = None
        if url.startswith("postgresql"):
            import psycopg

            self._connection = psycopg.connect(url, autocommit=True)
            self._connection.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
            port = int(self._connection.info.port)
            self._server = _server_of(port)
        self.begin()

    def begin(self) -> None:
        self._own, self._others, self._statements = time.process_time(), self._server_time(), self._executed()

    def read(self, runs: int) -> dict[str, float]:
        own, others = time.process_time() - self._own, self._server_time() - self._others
        found = {"cpu us": own / runs * 1e6, "statements": (self._executed() - self._statements) / runs}
        if self._server is not None:
            found["server cpu us"] = others / runs * 1e6
        return found

    def _server_time(self) -> float:
        if self._server is None:
            return 0.0
        total = 0.0
        for process in (self._server, *self._server.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                total += times.user + times.system
                if process == self._server:
                    total += times.children_user + times.children_system
        return total

    def _executed(self) -> float:
        if self._connection is None:
            return float(statements)
        asked = "SELECT coalesce(sum(calls), 0) FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid"
        return float(self._connection.execute(f"{asked} WHERE d.datname = current_database()").fetchone()[0])


def _server_of(port: int) -> psutil.Process:
    for process in psutil.process_iter(["name", "cmdline"]):
        words = process.info["cmdline"] or []
        if words and words[0].endswith("postgres") and "-p" in words and words[words.index("-p") + 1] == str(port):
            return process
    raise SystemExit(f"there is no PostgreSQL on port {port}")


class Scene:
    """A Workbell with one job, which counts its calls and says when so many have come."""

    def __init__(self, url: str) -> None:
        self.bell = Workbell(url)
        self.calls = 0
        self.starts: list[float] = []
        self._wanted = 0
        self._lock = threading.Lock()
        self.reached = threading.Event()
        self.job: Any = self.bell.job(self.noop)
        self.bell.store.check()

    def noop(self, number: int) -> None:
        now = time.perf_counter()
        with self._lock:
            self.calls += 1
            self.starts.append(now)
            if self.calls >= self._wanted:
                self.reached.set()

    def want(self, calls: int) -> None:
        with self._lock:
            self.calls, self._wanted, self.starts = 0, calls, []
            self.reached.clear()

    def fill(self, runs: int) -> None:
        for start in range(0, runs, 1000):
            self.bell.enqueue_many(
                [self.bell.request("noop", {"number": n}) for n in range(start, min(start + 1000, runs))]
            )


@contextlib.contextmanager
def engine(bell: Workbell) -> Iterator[None]:
    """An engine on a thread of its own."""
    loop = asyncio.new_event_loop()
    stop, begun = asyncio.Event(), threading.Event()

    async def run() -> None:
        async with bell.running():
            begun.set()
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(run(),))
    thread.start()
    begun.wait(30)
    try:
        yield
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()


def enqueue(scene: Scene, meter: Meter, runs: int) -> dict[str, float]:
    for number in range(WARM):
        scene.job.enqueue(number=number)
    meter.begin()
    began = time.perf_counter()
    for number in range(runs):
        scene.job.enqueue(number=number)
    took = time.perf_counter() - began
    return meter.read(runs) | {"wall us": took / runs * 1e6}


def drain(scene: Scene, meter: Meter, runs: int) -> dict[str, float]:
    runs *= 5
    scene.fill(runs + WARM)
    scene.want(runs + WARM)
    with engine(scene.bell):
        began = time.perf_counter()
        meter.begin()
        assert scene.reached.wait(200)
        took = time.perf_counter() - began
    return meter.read(runs) | {"wall us": took / runs * 1e6}  # with the stop, which writes the last outcomes


def latency(scene: Scene, meter: Meter, runs: int) -> dict[str, float]:
    runs //= 10
    with engine(scene.bell):
        _paced(scene, WARM // 4)
        meter.begin()
        waits = sorted(_paced(scene, runs))
        found = meter.read(runs)
    return found | {"p50 us": waits[len(waits) // 2] * 1e6, "p99 us": waits[len(waits) * 99 // 100] * 1e6}


def _paced(scene: Scene, runs: int) -> list[float]:
    waits = []
    for number in range(runs):
        scene.want(1)
        asked = time.perf_counter()
        scene.job.enqueue(number=number)
        assert scene.reached.wait(30)
        waits.append(scene.starts[0] - asked)
        time.sleep(GAP)
    return waits


MEASURES: dict[str, Callable[[Scene, Meter, int], dict[str, float]]] = {
    "enqueue": enqueue,
    "drain": drain,
    "latency": latency,
}


def main() -> None:
    measure, url, runs = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if url.startswith("sqlite"):
        count_statements()
    scene = Scene(url)
    found = MEASURES[measure](scene, Meter(url), runs)
    scene.bell.close()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
