"""Intervals: ticks at an anchor and every so often after it, without drift."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from workbell.errors import JobsError
from workbell.timing.instants import (
    EPOCH,
    LAST,
    at_second,
    in_utc,
    read_instant,
    shorten,
    show_instant,
    since_epoch,
    write_instant,
)

_SHORTEST, _LONGEST = timedelta(seconds=1), timedelta(days=36_525)
_EXAMPLE = "write one such as '5m from 2026-11-16T00:00:00Z'"
_END = at_second(LAST)
_LONGEST_TEXT = 128
_SPAN = re.compile(
    r"(?:(?P<d>[0-9]{1,9})d)?(?:(?P<h>[0-9]{1,9})h)?(?:(?P<m>[0-9]{1,9})m)?(?:(?P<s>[0-9]{1,12}(?:\.[0-9]{1,6})?)s)?"
)


@dataclass(frozen=True, slots=True)
class Interval:
    """`Interval(timedelta(minutes=5), anchor)`: the anchor is the first tick."""

    every: timedelta
    anchor: datetime

    def __post_init__(self) -> None:
        if not isinstance(self.every, timedelta) or not _SHORTEST <= self.every <= _LONGEST:
            raise JobsError(f"interval {self.every}: choose a timedelta from 1 second to 36525 days.")
        object.__setattr__(self, "anchor", in_utc(self.anchor))

    @classmethod
    def parse(cls, text: str) -> Interval:
        """Read `5m from 2026-11-16T00:00:00Z`; units d, h, m, s, also together: `1h30m`."""
        if not isinstance(text, str) or len(text) > _LONGEST_TEXT:
            raise JobsError(f"interval {shorten(text)} cannot be read; {_EXAMPLE}.")
        words = text.split()
        if len(words) != 3 or words[1].lower() != "from":
            raise JobsError(f"interval {shorten(text)} does not say how often and from when; {_EXAMPLE}.")
        try:
            return cls(read_span(words[0]), read_instant(words[2]))
        except JobsError as problem:
            raise JobsError(f"interval {shorten(text)}: {problem}") from None

    def __str__(self) -> str:
        """The text that `parse` reads."""
        return f"{write_span(self.every)} from {write_instant(self.anchor)}"

    def next(self, after: datetime) -> datetime | None:
        since = since_epoch(after) - (self.anchor - EPOCH)
        return self._tick(max(since // self.every + 1, 0))

    def latest(self, until: datetime) -> datetime | None:
        since = min(since_epoch(until), _END - EPOCH) - (self.anchor - EPOCH)
        return self._tick(since // self.every)

    def count(self, after: datetime, until: datetime) -> int:
        anchor, end = self.anchor - EPOCH, _END - EPOCH
        first = max((min(since_epoch(after), end) - anchor) // self.every, -1)
        last = max((min(since_epoch(until), end) - anchor) // self.every, -1)
        return max(last - first, 0)

    def describe(self) -> str:
        return f"every {show_span(self.every)} from {show_instant(self.anchor, seconds=False)}"

    def _tick(self, number: int) -> datetime | None:
        if number < 0 or number > (_END - self.anchor) // self.every:
            return None
        return self.anchor + number * self.every


def read_span(text: str) -> timedelta:
    """A span such as 90s, 1h30m or 1.5s."""
    found = _SPAN.fullmatch(text.lower())
    if not found or not text:
        raise JobsError(f"{shorten(text)} is not a span of time; write one such as 30s, 5m, 1h30m or 2d.")
    whole, _, fraction = (found["s"] or "0").partition(".")
    seconds = int(found["d"] or 0) * 86_400 + int(found["h"] or 0) * 3600 + int(found["m"] or 0) * 60 + int(whole)
    if seconds > _LONGEST.total_seconds():  # before it becomes a timedelta, which has its own end
        raise JobsError(f"{shorten(text)} is too long; choose a span of at most 36525 days.")
    return timedelta(seconds=seconds, microseconds=int(fraction.ljust(6, "0") or 0))


def write_span(span: timedelta) -> str:
    """The shortest text that `read_span` reads as this span."""
    return "".join(f"{number}{unit}" for number, unit in _parts(span))


def show_span(span: timedelta) -> str:
    """A span for people: 1 h 30 min."""
    words = {"d": "d", "h": "h", "m": "min", "s": "s"}
    return " ".join(f"{number} {words[unit]}" for number, unit in _parts(span))


def _parts(span: timedelta) -> list[tuple[str, str]]:
    hours, rest = divmod(span.seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    fraction = f".{span.microseconds:06}".rstrip("0") if span.microseconds else ""
    parts = [(span.days, "d"), (hours, "h"), (minutes, "m")]
    found = [(str(number), unit) for number, unit in parts if number]
    return found + ([(f"{seconds}{fraction}", "s")] if seconds or fraction else [])
