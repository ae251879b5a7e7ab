"""Processes of the test application: started, signalled and always cleaned up, by their ids."""

from __future__ import annotations

import fcntl
import os
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import TracebackType

from workbell.process.platform import platform

from . import warm
from .environment import without_settings
from .recorder import Event, Recorder, read_from
from .waiting import until
from .warm import PACKAGE, SOURCE, TOP

Process = subprocess.Popen[bytes] | warm.Process
FAST = {"LEASE": "1", "SWEEP": "0.2", "POLL": "0.05", "GRACE": "10"}


class Site:
    """A folder with one recording, one set of gates, and processes that share them and a store."""

    def __init__(self, folder: Path, url: str, **settings: str) -> None:
        self.url = url
        self.recorder = Recorder(folder / "recording.jsonl")
        self.log = folder / "log.txt"
        self.log.touch()
        self.gates = folder / "gates"
        self.gates.mkdir()
        self.started_here: list[Process] = []
        self._events: list[Event] = []
        self._read_to = 0
        self._settings = FAST | settings

    def start(self, *arguments: str, program: str = "worker_app") -> Process:
        module = f"{PACKAGE}.{program}"
        with self.log.open("ab") as log:
            process = warm.start(module, *arguments, folder=self.gates, environment=self.environment(), out=log)
        self.started_here.append(process)
        return process

    def run_command(self, command: list[str], **environment: str) -> subprocess.Popen[bytes]:
        """In the usual way."""
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                command,
                env=self.environment() | environment,
                cwd=self.gates,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self.started_here.append(process)
        return process

    def environment(self) -> dict[str, str]:
        environment = without_settings()
        environment["WORKBELL_HTTP"] = "false"  # a test that wants it says so
        environment |= {f"WORKBELL_{name}": value for name, value in self._settings.items()}
        environment |= {"WORKBELL_URL": self.url, "RECORDING": str(self.recorder.path), "GATES": str(self.gates)}
        return environment | {"PYTHONPATH": os.pathsep.join([str(SOURCE), str(TOP)])}

    def worker(self) -> Process:
        return self.start("worker")

    def await_ready(self, *workers: Process) -> None:
        """Until the engines of these workers are up."""
        wanted = {worker.pid for worker in workers}

        def ready() -> bool:
            assert all(worker.poll() is None for worker in workers), "a worker ended by itself"
            return wanted <= {event["pid"] for event in self.events() if event["kind"] == "ready"}

        until(ready, "the workers to be ready", 60)

    def open_gate(self, name: str) -> None:
        (self.gates / name).touch()

    def events(self) -> list[Event]:
        """Everything recorded so far; only what is new is read, because waiting asks again and again."""
        new, self._read_to = read_from(self.recorder.path, self._read_to)
        self._events += new
        return list(self._events)

    def starts(self, run_id: str | None = None, pid: int | None = None) -> list[Event]:
        """Starts of handlers: of a run, by a process."""
        return [
            event
            for event in self.events()
            if event["kind"] == "started" and run_id in (None, event["run"]) and pid in (None, event["pid"])
        ]

    def await_start(self, run_id: str, count: int = 1) -> Event:
        """Until a handler of this run has begun for the so-manieth time."""
        return until(lambda: self.starts(run_id)[count - 1 : count], f"start {count} of run {run_id}", 60)[0]

    def await_event(self, kind: str) -> Event:
        """Until something of this kind was recorded."""
        return until(lambda: [event for event in self.events() if event["kind"] == kind], kind, 60)[0]

    def logged(self) -> str:
        return self.log.read_text("utf-8", "replace")

    def __enter__(self) -> Site:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self.started_here:
            kill(process)
        self.recorder.close()
        if error is not None:
            told = [line for line in self.logged().splitlines() if '"level":"info","event":"run ' not in line]
            print("\n".join(told)[-20_000:])  # successes of schedules would fill it


def kill(process: Process) -> None:
    """kill -9, also of a stopped process; and wait until it is gone."""
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
    process.wait(30)


def freeze(process: Process, database: Path | None = None) -> None:
    freeze_pid(process.pid, database)


def freeze_pid(pid: int, database: Path | None = None) -> None:
    """SIGSTOP. With a SQLite file: while nobody is in the middle of a write, since all others would wait for it."""
    with turn(database):
        os.kill(pid, signal.SIGSTOP)
        until(lambda: state(pid) in "Tt", f"process {pid} to stop")


def thaw(process: Process) -> None:
    process.send_signal(signal.SIGCONT)


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def file_of(url: str) -> Path | None:
    """The file of a SQLite store."""
    return Path(url.removeprefix("sqlite:///")) if url.startswith("sqlite") else None


@contextmanager
def turn(database: Path | None) -> Iterator[None]:
    """Hold the turn at writing to a SQLite file, as a Workbell process does."""
    if database is None:
        yield
        return
    if not platform().flock:  # then SQLite's own lock is all there is
        with closing(sqlite3.connect(database, timeout=60, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield
            connection.execute("ROLLBACK")
        return
    with database.with_name(database.name + "-lock").open("a") as side:
        fcntl.flock(side, fcntl.LOCK_EX)
        yield
