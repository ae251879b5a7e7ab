"""Times as PostgreSQL answers them, in UTC. For those of SQLite see rows.py."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any


def to_utc(time: datetime | None) -> datetime | None:
    return None if time is None else time.astimezone(UTC)


def fields_in_utc(names: Sequence[str], row: Sequence[Any]) -> dict[str, Any]:
    """A row as fields, with its times in UTC: behind a pooler they may come in another zone."""
    return {
        name: value.astimezone(UTC) if isinstance(value, datetime) else value
        for name, value in zip(names, row, strict=True)
    }
