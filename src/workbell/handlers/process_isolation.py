"""Options of a job with `isolate="process"`: limits of memory and CPU time for its handler process."""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple

from workbell.errors import InvalidOption
from workbell.model.clock import seconds
from workbell.model.size import read_size

LEAST = 64 * 10**6  # bytes that a process with our own code in it needs, and some room


class Isolation(NamedTuple):
    """Limits of a handler process; None is unlimited."""

    memory: int | None = None  # bytes
    cpu: float | None = None  # seconds of CPU time


def isolation_of(
    isolate: str | None, memory_limit: int | str | None, cpu_limit: float | timedelta | None
) -> Isolation | None:
    """Check the options of `@bell.job`; None if the job is not isolated."""
    if isolate is None:
        for option, value in (("memory_limit", memory_limit), ("cpu_limit", cpu_limit)):
            if value is not None:
                raise InvalidOption(
                    f"{option}: only a process of its own can be limited; add isolate='process', or leave it out."
                )
        return None
    if isolate != "process":
        raise InvalidOption(f"isolate: {isolate!r} is not known; the only way there is is isolate='process'.")
    return Isolation(
        None if memory_limit is None else _memory(memory_limit),
        None if cpu_limit is None else _cpu(cpu_limit),
    )


def _memory(value: int | str) -> int:
    number = read_size("memory_limit", value)
    if number < LEAST:
        raise InvalidOption(f"memory_limit: {value} is less than any process needs; give 64MB or more.")
    return number


def _cpu(value: float | timedelta) -> float:
    number = seconds("cpu_limit", value)
    if not number:
        raise InvalidOption("cpu_limit: 0 leaves no time at all; give a number of seconds, or leave it out.")
    return number
