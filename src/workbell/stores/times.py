"""Times as databases store them: whole microseconds since 1970 on SQLite, `timestamptz` on PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from workbell.model.clock import EPOCH

_MICROSECOND = timedelta(microseconds=1)


def to_micros(time: datetime | None) -> int | None:
    """A time as SQLite stores it."""
    return None if time is None else (time - EPOCH) // _MICROSECOND


def from_micros(number: int | None) -> datetime | None:
    return None if number is None else EPOCH + timedelta(microseconds=number)


def to_utc(time: datetime | None) -> datetime | None:
    return None if time is None else time.astimezone(UTC)


def fields_in_utc(names: Sequence[str], row: Sequence[Any]) -> dict[str, Any]:
    """A row as fields, with its times in UTC: behind a pooler they may come in another zone."""
    return {
        name: value.astimezone(UTC) if isinstance(value, datetime) else value
        for name, value in zip(names, row, strict=True)
    }
