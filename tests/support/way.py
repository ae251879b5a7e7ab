"""The way of one run through our code, traced: which functions are called, from `enqueue` until the run is booked.

A running engine over a real store is profiled. What counts is the caller's thread, the handler's, and those steps of
`workbell-consume` and `workbell-finish` that claimed and booked the run; polls and other duties are left out.
Comprehensions belong to the function they stand in. Called twice from one place is one call.

`python -m tests.support.way` prints it, with the number of calls, functions and files.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import workbell
from workbell import Workbell
from workbell.claims import claiming
from workbell.settings import Settings

HOME = f"{Path(workbell.__file__).parent}/"
INLINE = ("<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>")
PATIENCE = 30.0  # seconds
TRIES = 100
REST = 0.05  # seconds between two runs, in which the claim that follows a booking mostly ends
DUTIES = {"Consume.step": "Executors.put", "Finish.step": "Booking.book_unheld"}  # and a call that a poll does not make


class Function(NamedTuple):
    """A function of ours by its file below the package and its qualified name."""

    file: str
    name: str

    def __str__(self) -> str:
        return f"{self.file} {self.name}"


Call = tuple[Function, ...]  # a call: functions from the thread's first down to the one that is called


class Way(NamedTuple):
    """Calls on the way of one run, in order, by the thread that makes them."""

    calls: dict[str, list[Call]]

    @property
    def length(self) -> int:
        """How many calls it has."""
        return sum(len(calls) for calls in self.calls.values())

    @property
    def functions(self) -> set[Function]:
        return {call[-1] for calls in self.calls.values() for call in calls}

    @property
    def files(self) -> set[str]:
        return {function.file for function in self.functions}

    def __str__(self) -> str:
        lines = [f"{self.length} calls of {len(self.functions)} functions in {len(self.files)} files"]
        for thread, calls in self.calls.items():
            lines.append(f"{thread}: {len(calls)} calls")
            lines += ["  " * len(call) + str(call[-1]) for call in calls]
        return "\n".join(lines)


class Tracer:
    """A profiler of this thread and of those that are started while it is installed."""

    def __init__(self) -> None:
        self._steps: dict[str, list[list[Call]]] = {}  # by thread; in that of a duty, one for each of its steps
        self._recording = False
        self._ended = {duty: threading.Event() for duty in DUTIES}

    def __enter__(self) -> Tracer:
        threading.setprofile(self._profile)
        return self

    def __exit__(self, *_: object) -> None:
        threading.setprofile(None)  # type: ignore[arg-type]  # allowed, as for sys.setprofile

    def trace(self, enqueue: Callable[[], object]) -> Way | None:
        """Enqueue a run, and wait until it is booked. None, if a step that had begun before took it."""
        self._steps = {}
        for ended in self._ended.values():
            ended.clear()
        self._recording = True
        sys.setprofile(self._profile)
        try:
            enqueue()
        finally:
            sys.setprofile(None)
        for duty, ended in self._ended.items():
            assert ended.wait(PATIENCE), f"{duty} has not ended"
        self._recording = False
        here = threading.current_thread().name
        calls = {
            here: self._steps[here][0],
            "workbell-consume": next(filter(_has_run, self._steps["workbell-consume"][1:]), []),
            "workbell-handler": self._steps["workbell-handler"][0],
            "workbell-finish": next(filter(_has_run, self._steps["workbell-finish"][1:]), []),
        }
        return Way(calls) if all(calls.values()) else None

    def _profile(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if not self._recording or not code.co_filename.startswith(HOME) or code.co_name in INLINE:
            return
        steps = self._steps.setdefault(threading.current_thread().name, [[]])
        if event == "call":
            call = _call_of(frame)
            if call[-1].name == "Duty.take_step":
                steps.append([])  # the first one is what a step does that has begun before
            steps[-1] += [call[:end] for end in range(1, len(call) + 1) if call[:end] not in steps[-1]]
        elif event == "return" and code.co_qualname in DUTIES and _has_run(steps[-1]):
            self._ended[code.co_qualname].set()


def _has_run(step: Sequence[Call]) -> bool:
    """Whether a step of a duty was more than a poll."""
    names = {call[-1].name for call in step}
    return any(names >= {duty, needed} for duty, needed in DUTIES.items())


def _call_of(frame: FrameType | None) -> Call:
    functions: list[Function] = []
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(HOME) and code.co_name not in INLINE:
            functions.append(Function(code.co_filename.removeprefix(HOME), code.co_qualname))
        frame = frame.f_back
    return tuple(reversed(functions))


def trace_run(bell: Workbell, enqueue: Callable[[], object], *, warm: int = 3, runs: int = 5) -> Way:
    """The shortest way of several runs, after some that warm up: now and then a write waits for its turn, or a cache
    is read again."""
    ways: list[Way] = []
    with Tracer() as tracer, _Running(bell):
        for _ in range(TRIES):
            way = tracer.trace(enqueue)
            if way is not None:
                ways.append(way)
            if len(ways) == warm + runs:
                break
            time.sleep(REST)
    return min(ways[warm:], key=lambda way: way.length)


def trace_plain_run(folder: Path) -> Way:
    """The way of a plain job from `enqueue` until it is booked, on SQLite."""
    sure, claiming.SURE = claiming.SURE, 1000  # guesses would leave out the survey of some runs
    try:
        with Workbell(settings=Settings(url=f"sqlite:///{folder}/way.db", poll=5)) as bell:

            @bell.job
            def add(left: int, right: int) -> int:
                return left + right

            return trace_run(bell, lambda: add.enqueue(left=1, right=2))
    finally:
        claiming.SURE = sure


class _Running:
    """An engine on an event loop of its own."""

    def __init__(self, bell: Workbell) -> None:
        self._bell = bell
        self._started, self._stop = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), name="loop")

    async def _run(self) -> None:
        async with self._bell.running():
            self._started.set()
            await asyncio.to_thread(self._stop.wait)

    def __enter__(self) -> None:
        self._thread.start()
        assert self._started.wait(PATIENCE)

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(PATIENCE)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(trace_plain_run(Path(folder)))
