"""Interrupts at every point: an exception raised in a thread from outside, as Ctrl-C is, at the n-th moment possible.

CPython looks for signals at the beginning of a function, after calls, and when a loop jumps back; nowhere else. Those
moments are found by tracing single instructions of the files in question, and the exception is raised at one of them.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Iterator
from functools import cache
from types import CodeType, FrameType, ModuleType
from typing import Any, Generic, NamedTuple, TypeVar

T = TypeVar("T")

CHECKED = ("CALL", "JUMP_BACKWARD", "RESUME")


class Instruction(NamedTuple):
    checked: bool  # whether CPython looks for signals at its end
    handler: int | None  # where an exception in it goes to


NOTHING = Instruction(False, None)


@cache
def instructions(code: CodeType) -> dict[int, Instruction]:
    """The instructions of a function by their place."""
    listed = dis.Bytecode(code)
    ranges = [(entry.start, entry.end, entry.target) for entry in listed.exception_entries]
    return {
        found.offset: Instruction(
            found.opname.startswith(CHECKED) and not found.opname.startswith("CALL_INTRINSIC"),
            next((target for start, end, target in ranges if start <= found.offset < end), None),
        )
        for found in listed
    }


class Interrupt(Generic[T]):
    """Calls a function and raises an exception in it at the n-th point within the given modules."""

    def __init__(self, number: int, *modules: ModuleType, error: type[BaseException] = KeyboardInterrupt) -> None:
        self._left = number
        self._files = {module.__file__ for module in modules}
        self._error = error
        self._before: dict[FrameType, Instruction] = {}
        self.where: str | None = None  # None: the call had fewer points

    def call(self, work: Callable[[], T]) -> T:
        sys._getframe().f_trace_opcodes = True  # Python 3.12 traces instructions only if a frame asked for it before
        sys.settrace(self._enter)
        try:
            return work()
        finally:
            sys.settrace(None)
            self._before.clear()

    def _enter(self, frame: FrameType, _event: str, _arg: Any) -> Any:
        if frame.f_code.co_filename not in self._files or frame.f_code.co_name.startswith("<"):
            return None
        frame.f_trace = self._step  # before the next line, for Python 3.13
        frame.f_trace_opcodes = True
        return self._step

    def _step(self, frame: FrameType, event: str, _arg: Any) -> Any:
        if event != "opcode":
            return self._step
        before = self._before.get(frame, NOTHING)
        here = self._before[frame] = instructions(frame.f_code).get(frame.f_lasti, NOTHING)
        # Tracing raises in the instruction that comes next, and a signal in the one before. Where a `try` begins or
        # ends between the two, that is not the same.
        if before.checked and before.handler == here.handler:
            self._left -= 1
            if self._left == 0:
                self.where = f"{frame.f_code.co_name}:{frame.f_lineno}"
                raise self._error
        return self._step


def every_point(*modules: ModuleType, error: type[BaseException] = KeyboardInterrupt) -> Iterator[Interrupt[Any]]:
    """One interrupt after the other, each a point later than the one before, until a call had no more points."""
    number = 0
    while True:
        number += 1
        interrupt: Interrupt[Any] = Interrupt(number, *modules, error=error)
        yield interrupt
        if interrupt.where is None:
            assert number > 3, "hardly a point was found: the tracing does not work"
            return
