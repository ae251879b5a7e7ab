"""An application whose jobs run in processes of their own: well-behaved ones, and some that are poison.

Run with `python -m`, as `worker_app`, or named to `workbell start --app`. The store comes from WORKBELL_URL, the
recording goes to RECORDING, gates are files in the folder GATES. Each handler notes its start, and with it its process.
"""

from __future__ import annotations

import asyncio
import ctypes
import logging
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from workbell import Context, Event, Retry

from .recorder import Recorder
from .worker_app import GATE_PACE, NotedWorkbell, die_with_parent

recorder = Recorder(Path(os.environ.get("RECORDING", os.devnull)))
gates = Path(os.environ.get("GATES", "."))
bell = NotedWorkbell()
bell.recorder = recorder

TWICE = Retry(attempts=2, delay=0, jitter=0)
ONCE = Retry(attempts=1)


def wait_at(gate: str) -> None:
    while not (gates / gate).exists():
        time.sleep(GATE_PACE)


@bell.job(isolate="process")
def pid(number: int = 0) -> dict[str, int]:
    return {"pid": os.getpid(), "group": os.getpgrp(), "number": number}


@bell.job(isolate="process")
async def async_pid() -> int:
    await asyncio.sleep(0)
    return os.getpid()


@bell.job(isolate="process", retry=TWICE)
def fails_first(ctx: Context) -> int:
    recorder.started(ctx.run)
    if not ctx.run.failures:
        raise ValueError("the first try fails")
    return ctx.run.attempt


@bell.job(isolate="process", retry=Retry(attempts=5, give_up_on=LookupError))
def fails_for_good() -> None:
    raise KeyError("no other try") from ValueError("the reason")


@bell.job(isolate="process", retry=ONCE)
def calls_exit() -> None:
    sys.exit(4)


@bell.job(isolate="process")
def tells(ctx: Context) -> str:
    recorder.started(ctx.run)
    ctx.progress(1, 2, "half")
    ctx.logger.info("a line from %s", "inside")
    with ctx.db as database:
        database.execute("CREATE TABLE IF NOT EXISTS written (pid)")
        database.execute("INSERT INTO written VALUES (?)", [os.getpid()])
    bell.notify(7, {"from": "inside"})
    child = ctx.enqueue("pid", {"number": 5})
    ctx.progress(2, 2, "done")
    return child.id


@bell.job(isolate="process")
def held(ctx: Context, gate: str) -> int:
    recorder.started(ctx.run)
    wait_at(gate)
    return os.getpid()


@bell.job
def neighbour(ctx: Context, gate: str) -> int:
    """In a thread of the worker."""
    recorder.started(ctx.run)
    wait_at(gate)
    return os.getpid()


@bell.job(isolate="process", timeout=0.3, retry=ONCE)
def loops(ctx: Context) -> None:
    recorder.started(ctx.run)
    while True:
        pass


@bell.job(isolate="process", timeout=0.1, retry=ONCE)
async def loops_on_the_loop(ctx: Context) -> None:
    recorder.started(ctx.run)
    while True:
        pass


@bell.job(isolate="process", timeout=0.1, retry=ONCE)
async def waits_for_ever(ctx: Context) -> None:
    recorder.started(ctx.run)
    await asyncio.Event().wait()


@bell.job(isolate="process", retry=ONCE)
def exits(ctx: Context) -> None:
    recorder.started(ctx.run)
    os._exit(3)


@bell.job(isolate="process", retry=ONCE)
def segfaults(ctx: Context) -> None:
    recorder.started(ctx.run)
    ctypes.string_at(0)


@bell.job(isolate="process", retry=TWICE, memory_limit="160MB")
def eats_memory(ctx: Context) -> None:
    recorder.started(ctx.run)
    eaten: list[Any] = []
    while True:
        eaten.append(bytearray(8_000_000))


@bell.job(isolate="process", memory_limit="160MB")
def is_frugal(size: int) -> int:
    return len(bytearray(size))


@bell.job(isolate="process", retry=ONCE, cpu_limit=0.5)
def computes(ctx: Context) -> None:
    recorder.started(ctx.run)
    while True:
        pass


@bell.job(isolate="process", cpu_limit=1)
def computes_a_little() -> float:
    end = time.process_time() + 0.4
    while time.process_time() < end:
        pass
    return time.process_time()


@bell.job(isolate="process")
def starts_another(ctx: Context, gate: str) -> None:
    recorder.started(ctx.run)
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    recorder.note("another", other=other.pid)
    wait_at(gate)


@bell.job(isolate="process")
def holds_the_interpreter(ctx: Context) -> None:
    """No other thread of its process gets a word in."""
    recorder.started(ctx.run)
    re.match(r"(a+)+$", "a" * 60 + "b")


@bell.on("posts.*", isolate="process")
def hears(event: Event, ctx: Context) -> list[Any]:
    assert ctx.event == event
    return [os.getpid(), event.type, event.data, ctx.emit("mail.wanted", {"post": event.data["id"]}).id]


@bell.on("mail.wanted", isolate="process")
async def hears_async(ctx: Context, event: Event) -> list[Any]:
    assert ctx.event is event
    return [os.getpid(), event.id, event.data, event.depth]


def main() -> None:
    die_with_parent()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(process)d %(message)s")
    bell.host.bus.subscribe(recorder.moved)
    bell.host.bus.on_message(lambda message: recorder.note("message", text=repr(message)))
    bell.run()
    recorder.note("ended")
    bell.close()


if __name__ == "__main__":
    main()
