"""Functions that a process calls once before it executes handlers (`@bell.on_worker_start`)."""

from __future__ import annotations

import inspect
import os
import threading
from collections.abc import Callable, Sequence
from typing import Any

from workbell.errors import JobsError
from workbell.handlers.function_names import function_name, location_of
from workbell.model.error_text import in_a_sentence


class WorkerStart:
    """The functions in the order of their declaration, and how many of them were called in this process."""

    def __init__(self) -> None:
        self._functions: list[Callable[[], Any]] = []
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._called = 0

    @property
    def functions(self) -> Sequence[Callable[[], Any]]:
        return self._functions

    @property
    def names(self) -> Sequence[str]:
        return [function_name(function) for function in self._functions]

    def add(self, function: Any) -> None:
        _check(function)
        self._functions.append(function)

    def call_once(self) -> None:
        """Call those that were not called in this process. The first error ends it, and a next start tries again."""
        if not self._functions:
            return
        with self._lock:
            if self._process != os.getpid():  # forked
                self._process, self._called = os.getpid(), 0
            for function in self._functions[self._called :]:
                _call(function)
                self._called += 1


def _call(function: Callable[[], Any]) -> None:
    try:
        function()
    except Exception as error:
        raise JobsError(
            f"on_worker_start {function.__qualname__} ({location_of(function)}): {in_a_sentence(error)}; no handler is "
            "executed in this process. Correct it, or let it catch what the jobs can do without."
        ) from error


def _check(function: Any) -> None:
    if not callable(function) or not hasattr(function, "__qualname__"):
        raise JobsError(
            f"on_worker_start: expected a function, got {type(function).__name__}; write @bell.on_worker_start above "
            "one."
        )
    where = f"on_worker_start {function.__qualname__} ({location_of(function)})"
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise JobsError(
            f"{where}: it is async, and not every process that executes handlers has an event loop by then; make it a "
            'plain function, and open what belongs to a loop in @bell.around_run(only="async").'
        )
    if inspect.isgeneratorfunction(function):
        raise JobsError(f"{where}: it has a yield, and nothing follows a start; for each run there is around_run.")
    try:
        inspect.signature(function).bind()
    except TypeError:
        raise JobsError(f"{where}: nothing is passed to it; let it take no arguments.") from None
    except ValueError:  # of C, without a signature
        return
