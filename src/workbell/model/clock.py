"""Time as an argument: the clocks that are injected, and the checks on times that come from outside.

Wall time is for what is stored and shown; monotonic time is for how long something takes. They never mix.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol

from workbell.errors import InvalidOption

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Clock(Protocol):
    """Where the time comes from."""

    def now(self) -> datetime: ...

    def monotonic(self) -> float: ...


class SystemClock:
    """The store's time: this process's monotonic clock plus an offset measured at the store.

    A step of the machine's wall clock therefore moves nothing until `set` is told a new time.
    """

    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()

    def now(self) -> datetime:
        return datetime.fromtimestamp(time.monotonic() + self._offset, UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    def set(self, now: datetime) -> timedelta:
        """Take over the time of the store; the answer is how far the clock was moved."""
        moved = now - self.now()
        self._offset = now.timestamp() - time.monotonic()
        return moved


class ManualClock:
    """A clock that moves only when told to: for tests."""

    def __init__(self, start: datetime = datetime(2030, 1, 1, tzinfo=UTC)) -> None:
        self._now = self.start = aware("start", start)
        self._monotonic = 0.0

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    def advance(self, seconds: float = 0, **units: float) -> datetime:
        """Move both clocks forward: `clock.advance(5)`, `clock.advance(hours=1)`."""
        step = timedelta(seconds=seconds) + timedelta(**units)
        self._now += step
        self._monotonic += step.total_seconds()
        return self._now


def aware(name: str, value: datetime) -> datetime:
    """The same instant in UTC; a time without a zone is refused, because it names no instant."""
    if not isinstance(value, datetime):
        raise InvalidOption(f"{name}: expected a datetime, got {type(value).__name__}.")
    if value.tzinfo is None:
        raise InvalidOption(
            f"{name}: {value.isoformat()} has no time zone; say which, for example datetime.now(timezone.utc)."
        )
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise InvalidOption(f"{name}: {value.isoformat()} is outside the years 1 to 9999 in UTC.") from None


def seconds(name: str, value: float | timedelta) -> float:
    """A span of time in seconds; negative or endless spans are refused."""
    number = value.total_seconds() if isinstance(value, timedelta) else value
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise InvalidOption(f"{name}: expected seconds or a timedelta, got {type(value).__name__}.")
    if not 0 <= number <= 3_153_600_000:  # a hundred years: also refuses NaN and infinity
        raise InvalidOption(f"{name}: {number} is not a span of 0 seconds to 100 years.")
    return float(number)


def time_limit(name: str, value: float | timedelta) -> float:
    """A timeout in seconds: a span that is more than nothing."""
    number = seconds(name, value)
    if not number:
        raise InvalidOption(f"{name}: it is more than 0 seconds; leave it out for none.")
    return number


def span(name: str, value: float | timedelta) -> timedelta:
    """The same as `seconds`, as a timedelta."""
    return timedelta(seconds=seconds(name, value))
