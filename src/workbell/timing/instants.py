"""Instants in and out: aware datetimes become whole seconds of UTC, and texts of RFC 3339 become datetimes.

The maths counts in seconds since 1970, because integers are exact and fast; only the years 2 to 9998 are used, so
that a local time next to them is still a date.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from workbell.errors import JobsError

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAY = 86_400
FIRST = -62_104_060_800  # 0002-01-01T00:00:00Z
LAST = 253_370_764_799  # 9998-12-31T23:59:59Z
MICROSECOND = timedelta(microseconds=1)
_RFC_3339 = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?(Z|[+-][0-9]{2}:[0-9]{2})",
    re.IGNORECASE,
)


def since_epoch(instant: datetime) -> timedelta:
    """How far from 1970 in UTC; a time without a zone is refused, because it names no instant."""
    if not isinstance(instant, datetime):
        raise JobsError(f"expected a datetime, got {type(instant).__name__}; give an aware datetime.")
    try:
        return instant - EPOCH
    except TypeError:
        raise JobsError(
            f"{instant.isoformat()} has no time zone; say which, for example datetime.now(timezone.utc)."
        ) from None


def whole_seconds(instant: datetime) -> int:
    """The second of UTC in which the instant lies."""
    span = since_epoch(instant)
    return span.days * DAY + span.seconds


def at_second(second: int) -> datetime:
    """The instant at which a second of UTC begins."""
    return EPOCH + timedelta(0, second)


def in_utc(instant: datetime) -> datetime:
    """The same instant in UTC, if it lies in the years the maths works in."""
    if not FIRST <= whole_seconds(instant) <= LAST:
        raise JobsError(f"{instant.isoformat()} is outside the years 2 to 9998; give an instant within them.")
    return EPOCH + since_epoch(instant)


def read_instant(text: str) -> datetime:
    """A time as in RFC 3339, zone included."""
    try:
        if not _RFC_3339.fullmatch(text):
            raise ValueError
        return in_utc(datetime.fromisoformat(text.upper()))
    except ValueError:
        raise JobsError(
            f"{shorten(text)} is not a time with a zone; write one as in RFC 3339, for example 2026-11-16T09:00:00Z."
        ) from None


def write_instant(instant: datetime) -> str:
    """The shortest RFC 3339 text of an instant, in UTC."""
    return in_utc(instant).replace(tzinfo=None).isoformat() + "Z"


def show_instant(instant: datetime, *, seconds: bool) -> str:
    """An instant for people; seconds are left out only where they are none and not asked for."""
    local = in_utc(instant).replace(tzinfo=None)
    exact = seconds or local.second or local.microsecond
    return f"{local.isoformat(' ', 'auto' if exact else 'minutes')} UTC"


def shorten(text: object) -> str:
    """A value for an error message, cut where it would fill the screen."""
    shown = ascii(text)
    return shown if len(shown) <= 80 else f"{shown[:77]}…"
