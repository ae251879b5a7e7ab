"""The application that supervised workers load in tests: the jobs of `worker_app`, and some that do harm.

The command line finds it as `tests.support.fleet_app:bell`; the recording and the gates come from the environment, as
for `worker_app`.
"""

from __future__ import annotations

import asyncio
import ctypes
import fcntl
import os
import random
import signal
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from workbell import Context, Retry, Snooze
from workbell.engine import housekeeping
from workbell.model.retry import ONCE
from workbell.process.platform import platform

from .recorder import Recorder
from .worker_app import NotedWorkbell, declare

housekeeping.TIDY = float(os.environ.get("TIDY", housekeeping.TIDY))  # how often it asks for the time
C = ctypes.PyDLL(None)  # whose functions are called without letting go of the interpreter
recorder = Recorder(Path(os.environ["RECORDING"]))
gates = Path(os.environ["GATES"])
bell = NotedWorkbell()
bell.recorder = recorder
declare(bell, recorder, gates)
bell.host.bus.subscribe(recorder.moved)
bell.host.bus.on_message(lambda message: recorder.note("message", data=message.data))


@bell.job
def exits(ctx: Context) -> None:
    recorder.started(ctx.run)
    os._exit(0)  # as if all were well


@bell.job
async def segfaults(ctx: Context) -> None:
    recorder.started(ctx.run)
    os.kill(os.getpid(), signal.SIGSEGV)


@bell.job(isolate="process", memory_limit="512MB", retry=Retry(attempts=2, delay=0))
def eats(ctx: Context) -> None:
    recorder.started(ctx.run)
    hoard = []
    while True:
        hoard.append(bytearray(1 << 24))


@bell.job(isolate="process", timeout=1, retry=Retry(attempts=2, delay=0))
def loops(ctx: Context) -> None:
    recorder.started(ctx.run)
    while True:
        pass


@bell.job(timeout=1, retry=ONCE)
async def blocks(ctx: Context) -> None:
    """Holds up the event loop for good: nothing less than the end of the process stops it."""
    recorder.started(ctx.run)
    while True:
        time.sleep(1)  # noqa: ASYNC251  on purpose


@bell.job
def holds(ctx: Context, seconds: float, file: str | None = None) -> dict[str, int]:
    """Holds the interpreter lock, as C code can: no other thread of the process gets a turn. Once its gate is open.

    With a SQLite file: not while this process is at a write, which would hold up everybody else's.
    """
    token = recorder.started(ctx.run)
    if seconds:
        while not (gates / "hold").exists():
            time.sleep(0.005)
        between = sys.getswitchinterval()
        sys.setswitchinterval(1000)  # from here on others get a turn only while we wait
        try:
            let_go = quiet(Path(file)) if file else int
            recorder.note("holding")
            let_go()
            C.usleep(int(seconds * 1_000_000))
        finally:
            sys.setswitchinterval(between)
    return token


def quiet(file: Path) -> Callable[[], object]:
    """Wait until no thread of this process has, or waits for, the turn at writing; the answer lets others have it."""
    if not platform().flock:  # then SQLite's own lock is all there is
        connection = sqlite3.connect(file, timeout=60, isolation_level=None, check_same_thread=False)
        connection.execute("BEGIN IMMEDIATE")
        return connection.close
    while True:
        side = file.with_name(file.name + "-lock").open("a")
        fcntl.flock(side, fcntl.LOCK_EX)
        if not any(thread.name == "workbell-file-lock" for thread in threading.enumerate()):
            return lambda: C.flock(side.fileno(), fcntl.LOCK_UN)
        side.close()
        time.sleep(0.001)


@bell.job(concurrency=2)
def limited(ctx: Context) -> dict[str, int]:
    token = recorder.started(ctx.run)
    time.sleep(0.002)
    return token


@bell.job
def stops_in_a_write(ctx: Context, file: str) -> dict[str, int]:
    """The first time, the whole process is stopped while it has the turn at writing to a SQLite file."""
    token = recorder.started(ctx.run)
    if ctx.run.attempt == 1:
        let_go = quiet(Path(file))
        os.kill(os.getpid(), signal.SIGSTOP)
        time.sleep(0.5)  # another thread may be the first to hear of it
        let_go()
    return token


@bell.job
def tells(ctx: Context, user: int) -> dict[str, int]:
    token = recorder.started(ctx.run)
    bell.notify(user, {"hello": user})
    bell.broadcast({"hello": "all"})
    return token


@bell.job
def naps(ctx: Context) -> dict[str, int]:
    token = recorder.started(ctx.run)
    time.sleep(0.005)
    return token


AGAIN_AND_AGAIN = Retry(attempts=1000, delay=0, jitter=0)


@bell.job(retry=AGAIN_AND_AGAIN)
def storms(ctx: Context, number: int) -> object:
    """Ends at random: it raises, asks for later, returns, or heeds a cancel; some are deaf to it."""
    recorder.started(ctx.run)
    chance = random.Random(number * 1000 + ctx.run.attempt)
    _nap(ctx, chance.uniform(0.01, 0.3), deaf=number % 3 == 0)
    return _storm_end(chance)


@bell.job(retry=AGAIN_AND_AGAIN)
async def astorms(ctx: Context, number: int) -> object:
    recorder.started(ctx.run)
    chance = random.Random(number * 1000 + ctx.run.attempt)
    await asyncio.sleep(chance.uniform(0.01, 0.3))
    return _storm_end(chance)


def _nap(ctx: Context, seconds: float, *, deaf: bool) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if ctx.canceled and not deaf:
            raise RuntimeError("asked to stop")
        time.sleep(0.005)


def _storm_end(chance: random.Random) -> object:
    match chance.choices(["raise", "snooze", "return"], [6, 2, 2])[0]:
        case "raise":
            raise ValueError("in the middle of it")
        case "snooze":
            return Snooze(0)
        case _:
            return "done"
