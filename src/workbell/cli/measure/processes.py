"""Worker processes of a measurement. They end when their stdin closes, so also if we are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import workbell
from workbell.cli.measure.tally import WorkerNumbers
from workbell.errors import WorkbellError

PATIENCE = 300.0
POLL = 0.002


@contextmanager
def workers(kind: str, url: str, count: int) -> Iterator[list[WorkerNumbers]]:
    """Worker processes and their tallies, for as long as the block lasts."""
    source = str(Path(workbell.__file__).parents[1])
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])}
    started: list[subprocess.Popen[bytes]] = []
    with TemporaryDirectory(prefix="workbell-bench-") as folder:
        tallies = [WorkerNumbers(Path(folder) / str(number)) for number in range(count)]
        try:
            for tally in tallies:
                command = [sys.executable, "-m", "workbell.cli.measure.worker", kind, url, str(tally.path)]
                with _uninterrupted():
                    started.append(_start(command, environment))
            wait_for(lambda: all(tally.is_ready for tally in tallies) or _any_dead(started), "its workers")
            if _any_dead(started):
                raise WorkbellError("A worker process of the measurement ended early; its error stands above.")
            yield tallies
        finally:
            for process in started:
                assert process.stdin is not None
                process.stdin.close()
            for process in started:
                try:
                    process.wait(30)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
            for tally in tallies:
                tally.close()


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Put off Ctrl-C until a process that is being started is known, else nobody would stop it."""
    caught: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: caught.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if caught:
            raise KeyboardInterrupt


def _start(command: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
    # A session of its own: Ctrl-C is for us, and they are stopped by us.
    return subprocess.Popen(command, stdin=subprocess.PIPE, env=environment, start_new_session=True)  # noqa: S603


def _any_dead(started: list[subprocess.Popen[bytes]]) -> bool:
    return any(process.poll() is not None for process in started)


def wait_for(condition: Callable[[], bool], what: str) -> None:
    """Poll until a condition holds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise WorkbellError(f"The measurement waited {PATIENCE:g} s for {what}, and gives up.")
        time.sleep(POLL)
