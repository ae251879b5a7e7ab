"""Job systems as the parent process measures them: each action on one is a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.support.postgres import PostgresServer

from .processes import cpu_seconds, memory, python_path, started, tail

BENCHMARKS = Path(__file__).resolve().parent.parent
NODE = BENCHMARKS.parent / ".node-bench"
SERVER = {"shared_buffers": "1GB", "fsync": "on", "synchronous_commit": "on"}  # on loopback, as all of these servers
DATABASE = "bench"
PATIENCE = 280.0  # seconds that an action may take
SETTLE = 4.0  # seconds until a worker that was started is idle
STAMPED = 300  # runs whose latency is measured
IDLE = 20.0  # seconds
RECORD = struct.Struct("qq")

Figures = dict[str, float]


class Failed(RuntimeError):
    """A measurement that could not be made."""


class Site:
    """A PostgreSQL server and a folder of the measurements, and the environment of their processes."""

    def __init__(self, folder: Path, server: PostgresServer, extra: Mapping[str, str]) -> None:
        self.folder, self.server = folder, server
        self.environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("WORKBELL_", "BENCH_"))
        }
        self.environment |= {"BENCH_FOLDER": str(folder), "BENCH_NODE": str(NODE)}
        # Bytecode is kept, also where the environment says otherwise: a worker would compile while it drains.
        self.environment |= {"PYTHONPATH": python_path(BENCHMARKS), "PYTHONDONTWRITEBYTECODE": "", **extra}
        self.environment["BENCH_POSTGRES"] = server.url(DATABASE)

    def system(self, name: str) -> System:
        return System(self, name)


@contextlib.contextmanager
def opened(**extra: str) -> Iterator[Site]:
    """A site for as long as the block lasts; `extra` goes into the environment of its processes."""
    with tempfile.TemporaryDirectory(prefix="workbell-bench-") as folder:
        server = PostgresServer(settings=SERVER)
        try:
            server.start().create_database(name=DATABASE)
            yield Site(Path(folder), server, extra)
        finally:
            server.remove()


class System:
    """One job system on one store. Its worker is started afresh for every measurement."""

    def __init__(self, site: Site, name: str) -> None:
        self.name = name
        self._site = site
        self._log = site.folder / f"{name.replace(':', '-')}.log"
        self._count, self._latencies = site.folder / "count", site.folder / "latencies"

    def __str__(self) -> str:
        return self.name

    # Actions

    @contextlib.contextmanager
    def _processes(self, action: str, *arguments: int, count: int = 1, piped: bool = True) -> Iterator[list[Any]]:
        command = [sys.executable, "-m", "rivals.child", self.name, action, *map(str, arguments)]
        with self._log.open("ab") as log:
            options = {"cwd": self._site.folder, "env": self._site.environment, "stderr": log}
            options |= {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE if piped else log}
            with started(command, count, **options) as processes:
                yield processes

    def do(self, action: str, *arguments: int) -> dict[str, Any]:
        """One action, and what it found."""
        with self._processes(action, *arguments) as (process,):
            try:
                printed, _ = process.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                raise Failed(f"{self.name}: {action} took longer than {PATIENCE:g} s") from None
            if process.returncode:
                raise Failed(f"{self.name}: {action} failed:\n{tail(self._log)}")
        return dict(json.loads(printed.splitlines()[-1]))

    @contextlib.contextmanager
    def workers(self, processes: int = 1) -> Iterator[list[int]]:
        """Worker processes, and their ids. A supervisor is one process that starts the others."""
        count, each = (1, processes) if ":" in self.name else (processes, 1)
        with self._processes("worker", each, count=count, piped=False) as started_here:
            yield [process.pid for process in started_here]

    def reset(self) -> None:
        """An empty store, and no hits."""
        self.do("setup")
        for file in (self._count, self._latencies):
            file.write_bytes(b"")

    # Measurements

    def enqueue(self, n: int) -> Figures:
        """Runs a second from one process, one call after another."""
        self.reset()
        return self.do("enqueue", n)

    def bulk(self, n: int) -> Figures:
        """Runs a second from one process, 1,000 a call."""
        self.reset()
        return self.do("bulk", n)

    def raw(self, n: int, batch: int) -> Figures:
        """Runs a second inserted by raw SQL."""
        self.reset()
        return self.do("raw", n, batch)

    def drain(self, n: int, processes: int = 1) -> Figures:
        """Work off n runs that wait, by workers that are started for it."""
        self.reset()
        self.do("fill", n)
        return self.work_off(n, processes)

    def work_off(self, n: int, processes: int = 1, neighbours: int = 0) -> Figures:
        """From the first handler start until all have started and the store has nothing unfinished.

        CPU time is that of the same span. `neighbours`: enqueue so many paced runs meanwhile.
        """
        if neighbours:
            n += neighbours + 1  # the first one connects
        with self._processes("watch", n) as (watcher,):
            self._line(watcher)
            began = time.time()
            with self.workers(processes) as pids:
                first = self._line(watcher)
                if "first" not in first or "done" in first:
                    raise Failed(f"{self.name}: no run was started:\n{tail(self._log)}")
                before = self._cpu(pids)
                if neighbours:
                    self.do("latency", neighbours)
                found = self._line(watcher)
                after = self._cpu(pids)
        if found["count"] < n or found["left"]:
            raise Failed(f"{self.name}: {found['count']} of {n} runs started, {found['left']} are left")
        span = found["done"] - first["first"]
        figures = {"rate": n / span, "boot": first["first"] - began, "again": found["count"] - n}
        figures |= {"worker_cpu": (after[0] - before[0]) / n * 1e6, "server_cpu": (after[1] - before[1]) / n * 1e6}
        return figures | {name: found[name] for name in ("least_lease", "lost") if found.get(name) is not None}

    def latency(self) -> Figures:
        """Milliseconds from just before the enqueue call to the handler start, in an idle worker."""
        self.reset()
        with self.workers():
            time.sleep(SETTLE)
            self.do("latency", STAMPED)
            return self.latencies(STAMPED)

    def latencies(self, count: int) -> Figures:
        """Percentiles of the stamped runs, once all of them have started."""
        end = time.monotonic() + 20
        while self._latencies.stat().st_size < RECORD.size * count:
            if time.monotonic() > end:
                raise Failed(f"{self.name}: stamped runs did not start:\n{tail(self._log)}")
            time.sleep(0.05)
        late = sorted((start - sent) / 1e6 for sent, start in RECORD.iter_unpack(self._latencies.read_bytes()))
        return {f"p{share}": late[min(len(late) - 1, len(late) * share // 100)] for share in (50, 99)}

    def idle(self) -> Figures:
        """CPU in percent of a core, and memory, of an idle worker; and the CPU of its server."""
        self.reset()
        with self.workers() as pids:
            time.sleep(SETTLE)
            found = memory(pids[0])
            before = self._cpu(pids)
            time.sleep(IDLE)
            worker, server = (later - earlier for later, earlier in zip(self._cpu(pids), before, strict=True))
        return found | {"cpu": worker / IDLE * 100, "server_cpu": server / IDLE * 100}

    def _cpu(self, pids: list[int]) -> tuple[float, float]:
        return cpu_seconds(pids), cpu_seconds([self._site.server.pid])

    def _line(self, watcher: Any) -> dict[str, Any]:
        line = watcher.stdout.readline()
        if not line:
            raise Failed(f"{self.name}: the watcher ended:\n{tail(self._log)}")
        return dict(json.loads(line))
