"""What a job may use that runs in a process of its own."""

from __future__ import annotations

from typing import NamedTuple

from workbell.errors import InvalidOption


class Isolation(NamedTuple):
    """Limits of the process; none: as much as there is."""

    memory: int | None = None  # bytes
    cpu: float | None = None  # seconds of computing


def isolation_of(isolate: str | None, memory_limit: int | str | None, cpu_limit: float | None) -> Isolation | None:
    """The options of `@bell.job`, checked."""
    if isolate is None:
        return None
    if isolate != "process":
        raise InvalidOption(f"isolate: {isolate!r} is not known; the only way there is is isolate='process'.")
    return Isolation()
