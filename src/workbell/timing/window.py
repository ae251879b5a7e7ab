"""Execution windows: a part of the day, by the clock on the wall of a zone, in which runs may start."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING

from workbell.errors import JobsError
from workbell.timing.instants import DAY, EPOCH, LAST, MICROSECOND, at_second, in_utc, shorten, whole_seconds
from workbell.timing.offsets import offsets_of
from workbell.timing.zones import resolve_timezone

if TYPE_CHECKING:
    from workbell.timing.timing import Timing

_CLOCK = re.compile(r"(?:[01][0-9]|2[0-3]):[0-5][0-9]")
MOST_WINDOWS = 3000  # eight years of one a day
_LAST_OPENING = LAST - 3 * DAY  # later the calendar may end before a window opens
_A_DAY = DAY * 1_000_000  # microseconds


@dataclass(frozen=True, slots=True)
class Window:
    """From `start` to before `end`, also across midnight: `Window(time(22), time(6), "Europe/Paris")`.

    The local time alone decides: on the night a clock is set back, its hour lies in the window twice or not at all.
    """

    start: time
    end: time
    timezone: str

    def __post_init__(self) -> None:
        resolve_timezone(self.timezone)
        for edge in (self.start, self.end):
            if not isinstance(edge, time) or edge.tzinfo is not None:
                raise JobsError(f"window: {edge!r} is not a plain time of day; give one such as datetime.time(2, 0).")
        if self.start.replace(fold=0) == self.end.replace(fold=0):
            raise JobsError(f"window {self}: start and end are equal; leave the window out for the whole day.")

    @classmethod
    def parse(cls, start: str, end: str, timezone: str) -> Window:
        """Read two times such as 02:00 and 06:00."""
        return cls(_read_time("start", start), _read_time("end", end), timezone)

    def __str__(self) -> str:
        return f"{_show(self.start)}-{_show(self.end)}"

    def contains(self, instant: datetime) -> bool:
        """Whether the clock on the wall shows a time of the window."""
        return self._has(self._clock_at(in_utc(instant))[0])

    def next_start(self, after: datetime) -> datetime:
        """The first instant not before `after` that lies in the window: `after` itself, if it does."""
        instant, start = in_utc(after), _since_midnight(self.start)
        while True:
            shown, change = self._clock_at(instant)
            if self._has(shown):
                return instant
            # A clock change may open the window earlier, or jump over its start.
            opening = instant + timedelta(microseconds=(start - shown) % _A_DAY)
            instant = in_utc(min(opening, change))

    def _clock_at(self, instant: datetime) -> tuple[int, datetime]:
        """The local time in microseconds since midnight, and the instant of the next clock change."""
        span = instant - EPOCH
        second = span.days * DAY + span.seconds
        stretch = offsets_of(self.timezone).at(second)
        return (second + stretch.offset) % DAY * 1_000_000 + span.microseconds, at_second(stretch.end)

    def describe(self) -> str:
        return f"{_show(self.start)}–{_show(self.end)}, {self.timezone}"

    def _has(self, local: int) -> bool:
        start, end = _since_midnight(self.start), _since_midnight(self.end)
        return start <= local < end if start < end else local >= start or local < end


def _read_time(name: str, text: str) -> time:
    if not isinstance(text, str) or not _CLOCK.fullmatch(text):
        raise JobsError(f"window: {name} {shorten(text)} is not a time of day; write HH:MM from 00:00 to 23:59.")
    return time.fromisoformat(text)


def _show(edge: time) -> str:
    return edge.isoformat("auto" if edge.second or edge.microsecond else "minutes")


def _since_midnight(edge: time) -> int:
    return ((edge.hour * 60 + edge.minute) * 60 + edge.second) * 1_000_000 + edge.microsecond


def find_next_inside(timing: Timing, window: Window, after: datetime) -> datetime | None:
    """The first tick later than `after` inside the window, found from window to window and not tick by tick.

    None if there is none, or none before 3,000 windows have opened without one.
    """
    for _ in range(MOST_WINDOWS):
        tick = timing.next(after)
        if tick is None or whole_seconds(tick) > _LAST_OPENING:
            return None
        if window.contains(tick):
            return tick
        after = window.next_start(tick) - MICROSECOND
    return None
