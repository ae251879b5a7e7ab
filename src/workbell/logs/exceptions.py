"""Exceptions for log records, as error trackers group them: by type and frames.

Their frames have no local variables. Those of a handler hold its input, which would leave with each failure: Sentry
sends local variables by default. And an exception waits with its run until that is booked, together with all that its
frames hold. Workbell's own frames are left out, as in the error text.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from types import FunctionType, TracebackType
from typing import Any, NamedTuple

from workbell.model.cancel_snooze import RetryAfter
from workbell.model.error_text import EXCEPTIONS, FRAMES, frames_of, is_workbells, read_error

MODULE = ("__name__", "__loader__")  # by which readers of tracebacks find the module of a frame, and its source


class _Place(NamedTuple):
    """Where a frame is."""

    file: str
    line: int
    function: str
    module: dict[str, Any]


def loggable(error: BaseException) -> BaseException:
    """What a handler raised, with tracebacks without local variables: its own, those behind it and in its group."""
    if isinstance(error, RetryAfter):
        error = error.error
    waiting, seen = [error], set[int]()
    while waiting and len(seen) < EXCEPTIONS:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        try:
            BaseException.with_traceback(one, _traceback(_places(one.__traceback__)))
            members = one.exceptions if isinstance(one, BaseExceptionGroup) else ()
            behind = (one.__cause__, one.__context__, *members)
        except Exception:  # noqa: BLE001, S112  classes of the application's own can fail in any way
            continue
        waiting += [other for other in behind if isinstance(other, BaseException)]
    return error


def exception_of(text: str) -> BaseException | None:
    """The exception of another process, made again from its error text; none, if that is not about an exception.

    Its class is a new one with the name and module of the real one. Only for processes of this machine: whoever prints
    a traceback reads the files that it names.
    """
    parts = read_error(text)
    if parts.type is None:
        return None
    module, _, kind_name = parts.type.rpartition(".")
    kind = type(kind_name, (Exception,), {"__module__": module})
    error: BaseException = kind(parts.message)
    places = [_Place(file, line, name, {"__name__": Path(file).stem}) for file, line, name in frames_of(text)]
    return error.with_traceback(_traceback(places))


def _places(trace: TracebackType | None) -> list[_Place]:
    found = []
    while trace is not None:
        code, names = trace.tb_frame.f_code, trace.tb_frame.f_globals
        module = {name: names[name] for name in MODULE if name in names}
        found.append(_Place(code.co_filename, trace.tb_lineno or 0, code.co_name, module))
        trace = trace.tb_next
    places = [place for place in found if not is_workbells(place.file)] or found[-1:]
    first, last = FRAMES
    return places if len(places) <= first + last else places[:first] + places[-last:]


def _traceback(places: Iterable[_Place]) -> TracebackType | None:
    trace = None
    for file, line, function, module in reversed(list(places)):
        code = _here.__code__.replace(co_filename=file, co_name=function, co_qualname=function, co_firstlineno=line)
        frame = FunctionType(code, {**module, "sys": sys})()
        trace = TracebackType(trace, frame, -1, line)  # -1: of no instruction, so that the line counts
    return trace


def _here() -> Any:
    return sys._getframe()
