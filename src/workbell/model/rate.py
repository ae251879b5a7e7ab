"""Rates such as "100/m", and the maths of the sliding window: never more starts than that in any span of the length.

Starts are remembered as pairs of a time (in microseconds since 1970) and a count. A start is allowed if fewer than the
rate's count were made in the span before it. A remembered time may be later than the start's own, never earlier, so
that every start stays counted for at least as long as it matters. Starts may be noted in another order than that of
their times, by clocks that are apart, as long as they are apart by less than a tenth of the span. A start that lies
further ahead than a span (or a minute, if that is longer) was noted before the clock was put back. It does not count:
else nothing would start until the clock is there again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from workbell.errors import InvalidOption
from workbell.model.clock import EPOCH

Starts = Sequence[tuple[int, int]]

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
MOST_STARTS = 1_000_000
LONGEST = 86400  # seconds: starts are removed with their limit's row, which stays for longer than this
SLACK = 10  # a clock may be behind another by the span divided by this
APART = 60  # seconds: further ahead no clock is, unless another one was put back
STEPS = 100  # of a span: the resolution of times where there are many starts

_TEXT = re.compile(r"([0-9]{1,9})/([0-9]{1,9})?([smhd])\Z", re.ASCII)
_MICROSECOND = timedelta(microseconds=1)


class Rate(NamedTuple):
    """At most so many starts in any span of so many seconds."""

    most: int
    seconds: int

    @classmethod
    def parse(cls, text: object) -> Rate:
        found = _TEXT.match(text) if isinstance(text, str) else None
        if found is None:
            raise InvalidOption(
                f'rate: {text!r} cannot be read; write "100/m", or "10/30s": a number of starts, a slash, and a span '
                "in s, m, h or d."
            )
        count, number, unit = found.groups()
        rate = cls(int(count), int(number or 1) * UNITS[unit])
        if not 1 <= rate.most <= MOST_STARTS:
            raise InvalidOption(f"rate: {text!r} allows {rate.most:,} starts; give a number from 1 to {MOST_STARTS:,}.")
        if not 1 <= rate.seconds <= LONGEST:
            raise InvalidOption(f"rate: {text!r} is over a span that is not from 1 s to 1 d; give another one.")
        return rate

    def __str__(self) -> str:
        for unit, size in reversed(UNITS.items()):
            if self.seconds % size == 0:
                number = self.seconds // size
                return f"{self.most}/{'' if number == 1 else number}{unit}"
        raise AssertionError("a whole number of seconds is always one of seconds")

    @property
    def span(self) -> timedelta:
        return timedelta(seconds=self.seconds)

    def used(self, starts: Starts, now: datetime) -> int:
        """Number of starts within the span of a start that is made now."""
        return sum(count for _, count in self._counted(starts, to_micros(now)))

    def allowed(self, starts: Starts, now: datetime) -> int:
        """Number of runs that may start now."""
        return max(self.most - self.used(starts, now), 0)

    def with_starts(self, starts: Starts, now: datetime, count: int) -> Starts:
        """The starts to be stored, after so many more now; without those that no longer count."""
        micros = to_micros(now)
        found = dict(self._counted(starts, micros - self._length // SLACK))
        # Rounded up to the next step. Where there can be few starts, each has its own time.
        grain = max(self._length // STEPS, 1) if self.most > STEPS else 1
        at = -(-micros // grain) * grain
        found[at] = found.get(at, 0) + count
        return sorted(found.items())

    def free_at(self, starts: Starts, now: datetime) -> datetime:
        """The earliest time, from now on, at which a start is allowed."""
        since = to_micros(now) - self._length
        counted = sorted(self._counted(starts, to_micros(now)))
        left = sum(count for _, count in counted)
        for at, count in counted:
            if left < self.most:
                break
            left -= count
            since = at
        return EPOCH + (since + self._length) * _MICROSECOND

    def _counted(self, starts: Starts, micros: int) -> list[tuple[int, int]]:
        """The starts of the span before a time; with clocks that differ, also some after it."""
        first, last = micros - self._length, micros + max(self._length, APART * 1_000_000)
        return [(at, count) for at, count in starts if first < at <= last]

    @property
    def _length(self) -> int:
        return self.seconds * 1_000_000


def to_micros(time: datetime) -> int:
    return (time - EPOCH) // _MICROSECOND
