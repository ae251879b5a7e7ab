"""Cron expressions in a time zone: the next tick, the latest, how many, and how clock changes are met.

A schedule whose minute or hour field starts with `*` follows real time: an instant that is skipped does not fire, one
that is repeated fires twice. Any other follows the wall clock: a time that is skipped fires once, at the first instant
after the gap; one that is repeated fires once, the first time. The field of seconds has no say in this:
`*/10 30 2 * * *` names a time of day, and a night without 02:30 gives one tick, not six at once.

Both are maths on stretches of constant offset. For the wall clock, a local time's tick is the first instant at which
the clock shows it or a later one; so the ticks after an instant are those of the local times beyond the latest that
the clock has shown by then.
"""

from __future__ import annotations

from datetime import datetime

from workbell.timing.describe import describe_cron
from workbell.timing.expression import read_expression, tidy
from workbell.timing.instants import DAY, FIRST, LAST, at_second, whole_seconds
from workbell.timing.offsets import Stretch, offsets_of

_FAR = 2 * DAY  # more than two offsets of a zone can differ by


class Cron:
    """A cron expression of 5 fields, or of 6 with the second first: `Cron("*/5 9-17 * * MON-FRI", "Europe/Paris")`."""

    __slots__ = ("_offsets", "_read", "_walk", "expression", "timezone")

    expression: str
    timezone: str

    def __init__(self, expression: str, timezone: str = "UTC") -> None:
        self.expression = tidy(expression)
        self.timezone = timezone
        self._read = read_expression(self.expression)
        self._walk = self._read.walk
        self._offsets = offsets_of(timezone)

    def next(self, after: datetime) -> datetime | None:
        """The first tick later than `after`, in UTC; None if there is none before the year 9999."""
        second = max(whole_seconds(after), FIRST - 1)
        if second >= LAST:
            return None
        found = self._next_real(second) if self._read.real_time else self._next_wall(second)
        return None if found is None or found > LAST else at_second(found)

    def latest(self, until: datetime) -> datetime | None:
        """The last tick that is not later than `until`, in UTC; None if there is none since the year 2."""
        second = min(whole_seconds(until), LAST)
        if second < FIRST:
            return None
        found = self._latest_real(second) if self._read.real_time else self._latest_wall(second)
        return None if found is None or found < FIRST else at_second(found)

    def count(self, after: datetime, until: datetime) -> int:
        """How many ticks are later than `after` and not later than `until`: sums over days, not a walk over ticks."""
        first = max(whole_seconds(after), FIRST - 1)
        last = min(whole_seconds(until), LAST)
        if last <= first:
            return 0
        return self._count_real(first, last) if self._read.real_time else self._count_wall(first, last)

    def ticks(self, after: datetime, n: int) -> list[datetime]:
        """The next `n` ticks; fewer where the calendar ends."""
        found: list[datetime] = []
        tick = self.next(after) if n > 0 else None
        while tick is not None:
            found.append(tick)
            tick = self.next(tick) if len(found) < n else None
        return found

    @property
    def follows_real_time(self) -> bool:
        """Whether it ticks by elapsed time when clocks change, and not by the clock on the wall."""
        return self._read.real_time

    def local_times(self, first: int, last: int) -> tuple[int, int] | None:
        """The first and the last of the local times from `first` to `last`, in seconds since 1970, that it names."""
        found, end = self._walk.at_or_after(first), self._walk.at_or_before(last)
        return None if found is None or end is None or found > last else (found, end)

    def describe(self) -> str:
        """The schedule in plain words, with its zone."""
        return describe_cron(self._read, self.timezone)

    def _next_real(self, second: int) -> int | None:
        start = second + 1
        while start <= LAST:
            stretch = self._offsets.at(start)
            local = self._walk.at_or_after(start + stretch.offset)
            if local is None:
                return None
            found = local - stretch.offset
            if found < stretch.end:
                return found
            # After a long stretch no fold reaches back before it, and the search may jump ahead.
            is_long = stretch.end - start >= _FAR
            start = max(stretch.end, found - _FAR) if is_long else stretch.end
        return None

    def _latest_real(self, second: int) -> int | None:
        end = second
        while end >= FIRST:
            stretch = self._offsets.at(end)
            local = self._walk.at_or_before(end + stretch.offset)
            if local is None:
                return None
            found = local - stretch.offset
            if found >= stretch.start:
                return found
            is_long = end - stretch.start >= _FAR
            end = min(stretch.start - 1, found + _FAR) if is_long else stretch.start - 1
        return None

    def _count_real(self, after: int, until: int) -> int:
        number = 0
        while after < until:
            stretch = self._offsets.at(after + 1)
            end = min(stretch.end - 1, until)
            number += self._walk.between(after + stretch.offset, end + stretch.offset)
            after = end
        return number

    def _next_wall(self, second: int) -> int | None:
        stretch = self._offsets.at(second)
        local = self._walk.at_or_after(_shown(stretch, second) + 1)
        return None if local is None else self._tick_of(local, stretch)

    def _latest_wall(self, second: int) -> int | None:
        stretch = self._offsets.at(second)
        local = self._walk.at_or_before(_shown(stretch, second))
        if local is None:
            return None
        if local <= stretch.high:
            stretch = self._offsets.at(local - _FAR)
        return self._tick_of(local, stretch)

    def _count_wall(self, after: int, until: int) -> int:
        offsets, between = self._offsets, self._walk.between
        number = between(_shown(offsets.at(after), after), _shown(offsets.at(until), until))
        start = offsets.at(after).end
        while start <= until:
            stretch = offsets.at(start)
            in_gap = between(stretch.high, start + stretch.offset)  # all of them one tick
            number -= max(0, in_gap - 1)
            start = stretch.end
        return number

    def _tick_of(self, local: int, stretch: Stretch) -> int:
        """The first instant at which the clock shows a local time or a later one; `stretch` begins before that."""
        while local >= stretch.end + stretch.offset:
            if stretch.end > LAST:
                return LAST + 1
            stretch = self._offsets.at(max(stretch.end, local - _FAR))
        return max(local - stretch.offset, stretch.start)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Cron):
            return NotImplemented
        return self.expression == other.expression and self.timezone == other.timezone

    def __hash__(self) -> int:
        return hash((self.expression, self.timezone))

    def __str__(self) -> str:
        return self.expression

    def __repr__(self) -> str:
        return f"Cron({self.expression!r}, timezone={self.timezone!r})"

    def __reduce__(self) -> tuple[type[Cron], tuple[str, str]]:
        return Cron, (self.expression, self.timezone)


def _shown(stretch: Stretch, second: int) -> int:
    """The latest local second the clock has shown by a second of UTC."""
    return max(second + stretch.offset, stretch.high)
