"""An application to be killed, stopped and restarted by the tests: workers, enqueuers and writers as processes.

Run with `python -m`, from the folder that holds the test packages: `worker`; `enqueue` with how many; `consume` with
ids, or without; `dispatch` with how often. The last two wait for the gate `go`. The store comes from WORKBELL_URL, the
recording goes to RECORDING, gates are files in the folder GATES. A worker notes when it is
ready, and when it has ended by itself. TIDY says after how many seconds it measures the time again.
"""

from __future__ import annotations

import asyncio
import ctypes
import logging
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

from workbell import Context, Retry, Workbell
from workbell.engine import housekeeping
from workbell.engine.engine import Engine

from .recorder import Recorder

GATE_PACE = 0.005
QUICKLY = Retry(attempts=3, delay=0, jitter=0)


def declare(bell: Workbell, recorder: Recorder, gates: Path) -> None:
    """The jobs. Each notes its start first, and returns its token, so that the checker can tell whose result it is."""

    def is_open(gate: str, ctx: Context) -> bool:
        """A gate is opened for all, for one attempt, or for one process."""
        names = (gate, f"{gate}-{ctx.run.attempt}", f"{gate}-pid-{os.getpid()}")
        return any((gates / name).exists() for name in names)

    @bell.job
    async def quick_async(ctx: Context, number: int = 0) -> dict[str, int]:
        return recorder.started(ctx.run)

    @bell.job
    def quick_plain(ctx: Context, number: int = 0) -> dict[str, int]:
        return recorder.started(ctx.run)

    @bell.job
    async def short_async(ctx: Context, number: int = 0) -> dict[str, int]:
        token = recorder.started(ctx.run)
        await asyncio.sleep(number % 5 / 1000)
        return token

    @bell.job
    def short_plain(ctx: Context, number: int = 0) -> dict[str, int]:
        token = recorder.started(ctx.run)
        time.sleep(number % 5 / 1000)
        return token

    @bell.job(retry=QUICKLY)
    async def fails_first(ctx: Context, number: int = 0) -> dict[str, int]:
        token = recorder.started(ctx.run)
        if not ctx.run.failures:
            raise ValueError("the first try fails")
        return token

    @bell.job
    def hears(ctx: Context) -> dict[str, int]:
        """Of an event."""
        return recorder.started(ctx.run)

    @bell.job
    async def held_async(ctx: Context, gate: str) -> dict[str, int]:
        token = recorder.started(ctx.run)
        while not is_open(gate, ctx):
            await asyncio.sleep(GATE_PACE)
        recorder.note("returned", run=ctx.run.id)
        return token

    @bell.job
    def held_plain(ctx: Context, gate: str) -> dict[str, int]:
        token = recorder.started(ctx.run)
        while not is_open(gate, ctx):
            time.sleep(GATE_PACE)
        recorder.note("returned", run=ctx.run.id)
        return token


MIXED = ("quick_async", "quick_plain", "short_async", "short_plain", "fails_first")


def mixed(count: int, first: int = 0) -> list[tuple[str, dict[str, Any]]]:
    """Requests for `enqueue_many`: all kinds of short runs in turn."""
    return [(MIXED[number % len(MIXED)], {"number": number}) for number in range(first, first + count)]


class NotedWorkbell(Workbell):
    """Notes when its engine is up, and when it has heard that it is to stop."""

    recorder: Recorder

    def __init__(self) -> None:
        super().__init__()
        start, stop = self.host._start, self.host._stop

        def noted_start(*arguments: Any) -> Engine:
            started = start(*arguments)
            self.recorder.note("ready")
            return started

        async def noted_stop(*arguments: Any) -> int:
            self.recorder.note("stopping")
            return await stop(*arguments)

        self.host._start, self.host._stop = noted_start, noted_stop  # type: ignore[method-assign]


def enqueue(bell: Workbell, recorder: Recorder, count: int) -> None:
    """One by one and in small groups; each noted once the call has returned."""
    for number in range(0, count, 4):
        recorder.acknowledged([bell.enqueue("quick_async", {"number": number})])
        recorder.acknowledged(bell.enqueue_many(mixed(3, number + 1)))


def die_with_parent() -> None:
    """If the tests themselves are killed, nothing is left behind."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
        if os.getppid() == 1:
            sys.exit(1)


def _await_go(recorder: Recorder) -> None:
    recorder.note("ready")
    while not (Path(os.environ["GATES"]) / "go").exists():
        time.sleep(GATE_PACE)


def main(role: str, *arguments: str) -> None:
    die_with_parent()
    housekeeping.TIDY = float(os.environ.get("TIDY", housekeeping.TIDY))  # how often it asks for the time
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(process)d %(message)s")
    recorder = Recorder(Path(os.environ["RECORDING"]))
    bell = NotedWorkbell()
    bell.recorder = recorder
    declare(bell, recorder, Path(os.environ["GATES"]))
    if role == "worker":
        bell.host.bus.subscribe(recorder.moved)
        bell.run()
        recorder.note("ended")
    elif role == "consume":
        _await_go(recorder)
        consumed = bell.consume(runs=arguments or None, limit=1000)
        recorder.note("consumed", answers=[(one.run, one.answer) for one in consumed.results])
    elif role == "dispatch":
        _await_go(recorder)
        for _ in range(int(arguments[0])):
            recorder.note("dispatched", **msgspec.structs.asdict(bell.dispatch()))
            time.sleep(GATE_PACE)
    else:
        enqueue(bell, recorder, int(arguments[0]))
    bell.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
