"""Once: a schedule of a single tick."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from workbell.errors import JobsError
from workbell.timing.instants import in_utc, read_instant, show_instant, since_epoch, write_instant


@dataclass(frozen=True, slots=True)
class Once:
    """`Once(at)`: one tick and no other."""

    at: datetime

    def __post_init__(self) -> None:
        object.__setattr__(self, "at", in_utc(self.at))

    @classmethod
    def parse(cls, text: str) -> Once:
        """Read a time as in RFC 3339, zone included."""
        if not isinstance(text, str):
            raise JobsError(
                f"once: expected a text, got {type(text).__name__}; write one such as 2026-11-16T09:00:00Z."
            )
        try:
            return cls(read_instant(text.strip()))
        except JobsError as problem:
            raise JobsError(f"once: {problem}") from None

    def __str__(self) -> str:
        """The text that `parse` reads."""
        return write_instant(self.at)

    def next(self, after: datetime) -> datetime | None:
        return self.at if in_order(after, self.at) else None

    def latest(self, until: datetime) -> datetime | None:
        return None if in_order(until, self.at) else self.at

    def count(self, after: datetime, until: datetime) -> int:
        return int(in_order(after, self.at)) - int(in_order(until, self.at)) if in_order(after, until) else 0

    def describe(self) -> str:
        return f"once, at {show_instant(self.at, seconds=True)}"


def in_order(first: datetime, second: datetime) -> bool:
    """Whether the first is earlier, as instants."""
    return since_epoch(first) < since_epoch(second)
