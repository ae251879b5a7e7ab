"""Rows of events and matches: which column is which field, in both directions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from workbell.model.event import Event, Match, MatchOutcome

# In the order of the fields of Event, and of Match.
EVENT = "id tenant type source time created_at subject data key system depth cause fanned_out_at".split()
MATCH = "event subscriber outcome created_at run reason".split()
EVENT_TIMES = {name for name in (*EVENT, *MATCH) if name.endswith("_at") or name == "time"}


def fill_event_columns(query: str) -> str:
    """Fill the column lists into a query."""
    for word, columns in (("event", EVENT), ("match", MATCH)):
        query = query.replace(f"{{{word}_values}}", ", ".join(f":{c}" for c in columns))
        query = query.replace(f"{{{word}_columns}}", ", ".join(columns)).replace(f"{{{word}}}", ", ".join(columns))
    return query


def time_positions(columns: Sequence[str]) -> tuple[int, ...]:
    """The indexes of the columns that are times."""
    return tuple(index for index, name in enumerate(columns) if name in EVENT_TIMES)


def _utc(time: datetime | None) -> datetime | None:
    return None if time is None else time.astimezone(UTC)


def event_values(event: Event) -> dict[str, Any]:
    return dict(zip(EVENT, msgspec.structs.astuple(event), strict=True))


def event_row(event: Event) -> tuple[Any, ...]:
    """The values of an event, in the order of the columns."""
    return msgspec.structs.astuple(event)


def event_from(row: Sequence[Any]) -> Event:
    values = list(row)
    for index in _EVENT_TIMES:
        values[index] = _utc(values[index])
    values[_SYSTEM] = bool(values[_SYSTEM])
    return Event(*values)


_EVENT_TIMES = time_positions(EVENT)
_SYSTEM = EVENT.index("system")


def match_values(match: Match) -> dict[str, Any]:
    return msgspec.structs.asdict(match) | {"outcome": match.outcome.value}


def match_row(match: Match) -> tuple[Any, ...]:
    """The values of a match, in the order of the columns; written out, as a fan-out makes many."""
    return match.event, match.subscriber, match.outcome.value, match.created_at, match.run, match.reason


def match_from(row: Sequence[Any]) -> Match:
    return Match(row[0], row[1], MatchOutcome(row[2]), row[3].astimezone(UTC), row[4], row[5])
