"""Processes of a measurement: started, measured, and ended whatever happens."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import psutil

GRACE = 3.0  # seconds that a process has to end by itself

_starting = False
_interrupted = False


def end_on_signals() -> None:
    """Turn SIGINT, SIGTERM and SIGHUP into KeyboardInterrupt, so that `finally` ends what was started."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    global _interrupted
    _interrupted = True
    if not _starting:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: None)  # cleaning up takes a few seconds, and must not be cut short
        raise KeyboardInterrupt


@contextlib.contextmanager
def started(command: Sequence[str], count: int = 1, **options: Any) -> Iterator[list[subprocess.Popen[str]]]:
    """Processes in sessions of their own (Ctrl-C is for us alone); ended when the block ends, with their children."""
    global _starting
    processes: list[subprocess.Popen[str]] = []
    try:
        for _ in range(count):
            _starting = True  # a signal waits until the process is in the list
            try:
                processes.append(subprocess.Popen(command, text=True, start_new_session=True, **options))
            finally:
                _starting = False
            if _interrupted:
                raise KeyboardInterrupt
        yield processes
    finally:
        end(processes)


def end(processes: Sequence[subprocess.Popen[str]]) -> None:
    """SIGTERM, and SIGKILL for what is still there after the grace."""
    below: list[psutil.Process] = []
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
            below += psutil.Process(process.pid).children(recursive=True)
            process.send_signal(signal.SIGTERM)
    for process in processes:
        try:
            process.wait(GRACE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()
    for child in below:
        with contextlib.suppress(psutil.NoSuchProcess):
            child.kill()


def tree(pid: int) -> list[psutil.Process]:
    """A process and everything below it."""
    try:
        top = psutil.Process(pid)
        return [top, *top.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def cpu_seconds(pids: Sequence[int]) -> float:
    """CPU time of processes and everything below them, also of children that have ended and been waited for."""
    total = 0.0
    for process in (one for pid in pids for one in tree(pid)):
        with contextlib.suppress(psutil.NoSuchProcess):
            total += sum(process.cpu_times()[:4])
    return total


def memory(pid: int) -> dict[str, float]:
    """RSS and PSS of a process tree, in MB. PSS counts a page that several processes share once."""
    full = [process.memory_full_info() for process in tree(pid)]
    return {"rss": sum(one.rss for one in full) / 1e6, "pss": sum(one.pss for one in full) / 1e6}


def tail(path: Path, size: int = 600) -> str:
    return path.read_text(errors="replace")[-size:] if path.exists() else ""


def python_path(*folders: Path) -> str:
    return os.pathsep.join([*map(str, folders), *filter(None, [os.environ.get("PYTHONPATH")])])
