"""Processes that start quickly: forked from one that has imported Workbell already, and otherwise like any other.

To start Python and load what a command or a worker needs takes 0.2 s of a core, and the tests do it hundreds of times:
without this the tests of the command line take half as much CPU again. Tests of the start itself, and of what a process
sees of it (its command, its environment as the system tells it), start one in the usual way.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO

import workbell

from .environment import without_settings

PACKAGE = __package__ or "support"
TOP = Path(__file__).resolve().parents[len(PACKAGE.split("."))]
SOURCE = Path(workbell.__file__).parents[1]


class Process:
    """What `subprocess.Popen` is for a process that we have started ourselves."""

    def __init__(self, source: Source, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._source = source

    def poll(self) -> int | None:
        self._source.listen(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        end = time.monotonic() + (1e9 if timeout is None else timeout)
        while self.poll() is None:
            left = end - time.monotonic()
            if left <= 0:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0)
            self._source.listen(min(left, 1.0))
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Source:
    """The process that forks, started when it is first needed."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._processes: dict[int, Process] = {}
        self._begun: list[Process] = []
        self._control, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        paths = {"PYTHONPATH": os.pathsep.join([str(SOURCE), str(TOP)]), "PYTHONUNBUFFERED": "1"}
        kept = without_settings()
        self._itself = subprocess.Popen(
            [sys.executable, "-m", f"{PACKAGE}.warm_start", str(other.fileno())],
            pass_fds=[other.fileno()],
            env=kept | paths,
            stdin=subprocess.DEVNULL,
        )
        other.close()
        atexit.register(self.close)

    def start(self, request: dict[str, Any], out: BinaryIO, error: BinaryIO) -> Process:
        with self._lock, Path(os.devnull).open("rb") as nothing:
            files = [file.fileno() for file in (nothing, out, error)]
            socket.send_fds(self._control, [json.dumps(request).encode()], files)
            while not self._begun:
                self.listen(60)
            return self._begun.pop()

    def listen(self, timeout: float) -> None:
        """Take in what it has told us; wait so long for the first."""
        with self._lock:
            while select.select([self._control], [], [], timeout)[0]:
                text = self._control.recv(1000)
                if not text:
                    raise RuntimeError(f"the process that starts others has ended: {self._itself.wait(10)}")
                told = json.loads(text)
                if "begun" in told:
                    self._begun.append(Process(self, told["begun"]))
                    self._processes[told["begun"]] = self._begun[-1]
                else:
                    self._processes.pop(told["ended"]).returncode = told["code"]
                timeout = 0

    def close(self) -> None:
        self._control.close()
        self._itself.wait(30)


_sources: dict[int, Source] = {}


def start(
    module: str,
    *arguments: str,
    folder: Path,
    environment: dict[str, str],
    out: BinaryIO,
    error: BinaryIO | None = None,
) -> Process:
    """`python -m module …`, with nothing to read; what it prints goes into these files."""
    if os.getpid() not in _sources:  # one that the tests have forked has none yet
        _sources[os.getpid()] = Source()
    request = {"module": module, "arguments": arguments, "folder": str(folder), "environment": environment}
    return _sources[os.getpid()].start(request, out, error or out)


def run(
    module: str, *arguments: str, folder: Path, environment: dict[str, str], timeout: float = 90
) -> subprocess.CompletedProcess[str]:
    """`python -m module …` to its end, and what it printed."""
    with TemporaryFile() as out, TemporaryFile() as error:
        process = start(module, *arguments, folder=folder, environment=environment, out=out, error=error)
        try:
            code = process.wait(timeout)
        finally:
            process.kill()
        out.seek(0)
        error.seek(0)
        return subprocess.CompletedProcess([module, *arguments], code, out.read().decode(), error.read().decode())
