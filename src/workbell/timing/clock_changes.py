"""Clock changes around an instant: times that the wall clock skips, and times that it shows twice."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from workbell.timing.instants import DAY, whole_seconds
from workbell.timing.offsets import offsets_of


class Gap(NamedTuple):
    """Local times that are never shown, in seconds since 1970 as the wall counts them: both ends are left out too."""

    first: int
    last: int


def local_second(instant: datetime, timezone: str) -> int:
    """Local wall-clock time."""
    second = whole_seconds(instant)
    return second + offsets_of(timezone).at(second).offset


def offset_at(instant: datetime, timezone: str) -> int:
    """UTC offset in seconds."""
    return offsets_of(timezone).at(whole_seconds(instant)).offset


def gap_before(instant: datetime, timezone: str) -> Gap | None:
    """The skipped span, if this is the very second to which the clock was set forward."""
    second = whole_seconds(instant)
    stretch = offsets_of(timezone).at(second)
    shown = second + stretch.offset
    return Gap(stretch.high + 1, shown - 1) if second == stretch.start and shown > stretch.high + 1 else None


def time_shown(instant: datetime, timezone: str) -> int | None:
    """For a time that the clock shows twice because it is set back: the first time or the second; else none."""
    offsets, second = offsets_of(timezone), whole_seconds(instant)
    stretch = offsets.at(second)
    shown = second + stretch.offset
    if shown <= stretch.high:
        return 2
    while stretch.end < second + DAY:  # no clock is set back by more
        stretch = offsets.at(stretch.end)
        if stretch.start + stretch.offset <= shown:
            return 1
    return None
