"""Clocks, which are injected, and checks of times that come from outside.

Wall time is for what is stored and shown; monotonic time is for how long something takes; boot time, which runs on
while the machine is suspended, is for the ends of our own leases. They never mix.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Annotated, NamedTuple, Protocol

from msgspec import Meta

from workbell.errors import InvalidOption
from workbell.process.platform import boot_clock

log = logging.getLogger("workbell.clock")

Instant = Annotated[datetime, Meta(tz=True)]
"""A time with its zone, in structs that are also sent as JSON."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
QUICK = 0.05  # seconds that a measurement may take; a slower one is tried again
SLOW = 0.5  # one that took longer than this cannot confirm anything
TRIES = 3
OLD = 60.0  # seconds after a measurement
STEP = 0.5  # seconds: a correction of more than this is a step of the clock, and must be seen twice


class Clock(Protocol):
    """A source of time."""

    def now(self) -> datetime: ...

    def monotonic(self) -> float:
        """Seconds for timeouts and waits; while the machine is suspended, it may stand still."""

    def boottime(self) -> float:
        """Seconds that pass also while the machine is suspended: when a lease of ours has ended."""


class ClockOffset(NamedTuple):
    """An offset from our boot time to the store's clock. It lies between two bounds: we know only when we asked
    and when the answer came. A measurement through a stall has wide bounds, and so proves little."""

    least: float
    most: float

    @property
    def width(self) -> float:
        return self.most - self.least

    def nearest(self, offset: float) -> float:
        """The offset within the bounds that is closest to this one."""
        return min(max(offset, self.least), self.most)

    def confirms(self, other: ClockOffset) -> bool:
        apart = max(self.least - other.most, other.least - self.most)
        return self.width <= SLOW and apart <= STEP


class SystemClock:
    """The store's time: this machine's boot time plus an offset measured at the store.

    A step of the machine's wall clock moves nothing, and after a suspend the time is right at once. The offset is
    corrected by `measure`, by no more than what the measurement proves: one through a stall proves nothing.
    """

    def __init__(self) -> None:
        self.boottime = boot_clock()
        self._offset = time.time() - self.boottime()
        self._measured = False
        self.put_back_at: float | None = None  # monotonic; until the waits of runs have been corrected
        self._measured_at = self.boottime()
        self._lock = threading.Lock()

    monotonic = staticmethod(time.monotonic)  # and no method around it: it is asked for with every run

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.boottime() + self._offset, UTC)

    @property
    def is_old(self) -> bool:
        """Whether it should be measured: an engine does that every few seconds, other programs do not."""
        return self.boottime() - self._measured_at > OLD

    def measure(self, ask: Callable[[], datetime]) -> timedelta:
        """Ask for the store's time and correct this clock; the answer is how far it was moved.

        A step (more than half a second) is followed at once, if a second measurement confirms it: schedules go by the
        wall clock, and leases do not depend on it. The first measurement of a process finds out how far this machine is
        from the store, which is no step.
        """
        with self._lock:
            self._measured_at = self.boottime()
            found = self._best(ask)
            first = not self._measured and found.width <= SLOW
            offset = (found.least + found.most) / 2 if first else found.nearest(self._offset)
            if self._measured and abs(offset - self._offset) > STEP:
                again = self._best(ask)
                if not again.confirms(found):
                    log.warning(
                        "the store's time was off by %+.1f s, once; it is measured again", offset - self._offset
                    )
                    return timedelta(0)
                offset = again.nearest(offset)
                way = "ahead" if offset > self._offset else "back"
                log.warning("the store's clock was put %s by %.1f s", way, abs(offset - self._offset))
            moved = offset - self._offset
            self._offset = offset
            if moved < -STEP:
                self.put_back_at = time.monotonic()
            self._measured = self._measured or first
            return timedelta(seconds=moved)

    def _best(self, ask: Callable[[], datetime]) -> ClockOffset:
        """The quickest of a few tries."""
        best = ClockOffset(-math.inf, math.inf)
        for _ in range(TRIES):
            before = self.boottime()
            said = ask().timestamp()
            after = self.boottime()
            if after - before <= best.width:
                best = ClockOffset(said - after, said - before)
            if best.width <= QUICK or (self._measured and best.confirms(ClockOffset(self._offset, self._offset))):
                break
        return best


class ManualClock:
    """A clock that is moved by hand: for tests."""

    def __init__(self, start: datetime = datetime(2030, 1, 1, tzinfo=UTC)) -> None:
        self._now = self.start = aware("start", start)
        self._monotonic = 0.0
        self._suspended = 0.0

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    def boottime(self) -> float:
        return self._monotonic + self._suspended

    def advance(self, seconds: float = 0, **units: float) -> datetime:
        """Move all clocks forward: `clock.advance(5)`, `clock.advance(hours=1)`."""
        step = timedelta(seconds=seconds) + timedelta(**units)
        self._now += step
        self._monotonic += step.total_seconds()
        return self._now

    def suspend(self, seconds: float = 0, **units: float) -> datetime:
        """Let time pass while the machine is suspended: monotonic time stands still. `clock.suspend(hours=1)`."""
        step = timedelta(seconds=seconds) + timedelta(**units)
        self._now += step
        self._suspended += step.total_seconds()
        return self._now

    def put(self, seconds: float = 0, **units: float) -> datetime:
        """Set the wall clock ahead, or back, while no time passes: `clock.put(hours=-1)`."""
        self._now += timedelta(seconds=seconds) + timedelta(**units)
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
