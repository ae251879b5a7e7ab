"""Worker and producer processes for load tests of a store: started, read and ended by the classes here.

Run as a program this file is such a process: `load_processes.py worker URL`, `load_processes.py producer URL RATE
PROBES`. Both end on SIGTERM, and when their standard input closes: a parent that was killed leaves none of them behind.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import quantiles
from typing import Any

import psutil

from workbell import Workbell
from workbell.settings import Settings

JOB = "noop"
BATCH_SECONDS = 0.05  # between two bulk enqueues of a producer: few calls, so that it needs little CPU
REPORT_SECONDS = 0.25
CHUNK = 1000  # runs of one bulk enqueue


def define(bell: Workbell, started: Callable[[float], None] = lambda at: None) -> Any:
    """The job of these tests. `at` is when the caller enqueued it, for probes; `text` makes an input longer."""

    @bell.job(name=JOB)
    async def noop(at: float = 0.0, text: str = "") -> None:
        started(at)

    return noop


# The parent's side


class Child:
    """A process of this file. Its lines of JSON are read by a thread."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, str(Path(__file__).resolve()), *arguments]
        # A session of its own: Ctrl-C in a terminal reaches the parent alone, which then ends its children.
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        self._lock = threading.Lock()
        self._ready = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._lock:
                self.take(json.loads(line))
            self._ready.set()

    def take(self, report: dict[str, Any]) -> None:
        raise NotImplementedError

    def wait_until_ready(self) -> None:
        if not self._ready.wait(60):
            raise RuntimeError(f"{type(self).__name__} did not start within 60 s")

    @property
    def process(self) -> psutil.Process:
        return psutil.Process(self._process.pid)

    def cpu(self) -> float:
        """Seconds of CPU so far."""
        return sum(self.process.cpu_times()[:2])

    def end(self) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(40)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(10)


class Worker(Child):
    """A worker process: `bell.run()` with the no-op job, shipped settings."""

    def __init__(self, url: str) -> None:
        self.done = 0  # runs started so far
        self.last = 0.0  # when the newest of them was
        self._late: list[float] = []
        super().__init__("worker", url)

    def take(self, report: dict[str, Any]) -> None:
        self.done, self.last = report["done"], report["last"]
        self._late += report["late"]

    def take_latencies(self) -> list[float]:
        """Seconds from the call of enqueue to the start of the handler: of the probes since the last call."""
        with self._lock:
            found, self._late = self._late, []
        return found

    def wait_for(self, count: int, seconds: float) -> bool:
        """Wait until so many runs were started, in all."""
        end = time.monotonic() + seconds
        while self.done < count and time.monotonic() < end:
            time.sleep(0.05)
        return self.done >= count


class Producer(Child):
    """A process that enqueues so many runs a second in batches, and some probes one by one."""

    def __init__(self, url: str, rate: float, probes: float) -> None:
        self.made = 0
        super().__init__("producer", url, str(rate), str(probes))

    def take(self, report: dict[str, Any]) -> None:
        self.made = report["made"]


@contextmanager
def worker(url: str) -> Iterator[Worker]:
    child = Worker(url)
    try:
        child.wait_until_ready()
        yield child
    finally:
        child.end()


@contextmanager
def producer(url: str, rate: float, probes: float) -> Iterator[Producer]:
    child = Producer(url, rate, probes)
    try:
        child.wait_until_ready()
        yield child
    finally:
        child.end()


def enqueue_bulk(bell: Workbell, job: Any, count: int, **values: Any) -> None:
    for start in range(0, count, CHUNK):
        bell.enqueue_many(job.request(**values) for _ in range(min(CHUNK, count - start)))


def drain(bell: Workbell, job: Any, of: Worker, count: int, seconds: float = 120) -> float:
    """Runs a second: a backlog is enqueued while the job is paused; timed from `resume` to the last handler's start."""
    bell.pause(job=JOB)
    time.sleep(1.5)  # longer than a survey of lanes is good for: nobody claims any more
    enqueue_bulk(bell, job, count)
    target = of.done + count
    began = time.time()
    bell.resume(job=JOB)
    if not of.wait_for(target, seconds):
        left = target - of.done
        return (count - left) / seconds
    return count / max(of.last - began, 1e-6)


def percentiles(seconds: Sequence[float]) -> tuple[float, float]:
    """p50 and p99, in milliseconds."""
    if len(seconds) < 2:
        return float("nan"), float("nan")
    cuts = quantiles(seconds, n=100, method="inclusive")
    return 1000 * cuts[49], 1000 * cuts[98]


# The child's side


def _end_with_parent() -> None:
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)


def _print(report: dict[str, Any]) -> None:
    try:
        print(json.dumps(report), flush=True)
    except BrokenPipeError:
        os._exit(1)


def _settings(url: str) -> Settings:
    return Settings(url=url, log_level="warning")


def run_worker(url: str) -> None:
    done, last = 0, 0.0
    late: list[float] = []

    def started(at: float) -> None:
        nonlocal done, last
        last = time.time()
        done += 1
        if at:
            late.append(last - at)

    def report() -> None:
        count = len(late)
        _print({"done": done, "last": last, "late": late[:count]})
        del late[:count]

    def report_for_ever(bell: Workbell) -> None:
        while bell.host.running is None:
            time.sleep(0.02)
        while True:
            report()
            time.sleep(REPORT_SECONDS)

    bell = Workbell(settings=_settings(url))
    define(bell, started)
    threading.Thread(target=report_for_ever, args=(bell,), daemon=True).start()
    bell.run()
    report()


def run_producer(url: str, rate: float, probes: float) -> None:
    ending = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ending.set())
    bell = Workbell(settings=_settings(url))
    job = define(bell)
    bell.store.check()
    made = [0, 0]

    def probe() -> None:
        next_at = time.monotonic() + BATCH_SECONDS / 3  # between the batches, not in step with them
        while not ending.wait(max(next_at - time.monotonic(), 0)):
            job.enqueue(at=time.time())
            made[1] += 1
            next_at += 1 / probes

    def enqueue() -> None:
        began = time.monotonic()
        while not ending.wait(BATCH_SECONDS):
            due = int((time.monotonic() - began) * rate) - made[0]
            if due > 0:
                enqueue_bulk(bell, job, due)
                made[0] += due

    duties = [enqueue] * (rate > 0) + [probe] * (probes > 0)
    threads = [threading.Thread(target=duty) for duty in duties]
    for thread in threads:
        thread.start()
    while not ending.wait(REPORT_SECONDS):
        _print({"made": sum(made)})
    for thread in threads:
        thread.join()
    _print({"made": sum(made)})
    bell.close()


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, daemon=True).start()
    kind, url, *rest = sys.argv[1:]
    if kind == "worker":
        run_worker(url)
    else:
        run_producer(url, *map(float, rest))
