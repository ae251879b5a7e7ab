"""Rows to events, matches, triggers and endpoints, and back: which column is which field."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from workbell.model.endpoint import Endpoint, Health, SealedSecret
from workbell.model.event import Event, Match, MatchOutcome
from workbell.model.retry import Retry
from workbell.model.run_defaults import from_text, to_text
from workbell.model.trigger import Trigger

# In the order of the fields of Event, and of Match.
EVENT = "id tenant type source time created_at subject data key system depth cause fanned_out_at".split()
MATCH = "event subscriber outcome created_at run reason".split()
TRIGGER = (
    "id tenant name description pattern job enabled retry source declared_at version created_at updated_at options"
).split()
ENDPOINT = (
    "id tenant url description patterns headers secrets enabled reason disabled_at retry rate concurrency timeout "
    "version created_at updated_at"
).split()
HEALTH = "endpoint failures failing_since last_success_at last_failure_at".split()
EVENT_TIMES = {
    name
    for name in (*EVENT, *MATCH, *TRIGGER, *ENDPOINT, *HEALTH)
    if name.endswith("_at") or name in ("time", "failing_since")
}

_retry = msgspec.json.Decoder(Retry)
_secrets = msgspec.json.Decoder(tuple[SealedSecret, ...])
_names = msgspec.json.Decoder(tuple[str, ...])


def place_event_columns(query: str) -> str:
    """Fill the column lists into a query."""
    for word, columns in (("trigger", TRIGGER), ("endpoint", ENDPOINT)):
        query = query.replace(f"{{{word}_assignments}}", ", ".join(f"{c} = :{c}" for c in columns if c != "id"))
    for word, columns in (("event", EVENT), ("match", MATCH), ("trigger", TRIGGER), ("endpoint", ENDPOINT)):
        query = query.replace(f"{{{word}_values}}", ", ".join(f":{c}" for c in columns))
        query = query.replace(f"{{{word}_columns}}", ", ".join(columns)).replace(f"{{{word}}}", ", ".join(columns))
    return query.replace("{health}", ", ".join(HEALTH))


def time_places(columns: Sequence[str]) -> tuple[int, ...]:
    """Which of these columns are times."""
    return tuple(place for place, name in enumerate(columns) if name in EVENT_TIMES)


def _utc(time: datetime | None) -> datetime | None:
    return None if time is None else time.astimezone(UTC)


def event_values(event: Event) -> dict[str, Any]:
    return dict(zip(EVENT, msgspec.structs.astuple(event), strict=True))


def event_from(row: Sequence[Any]) -> Event:
    values = list(row)
    for place in _EVENT_TIMES:
        values[place] = _utc(values[place])
    values[_SYSTEM] = bool(values[_SYSTEM])
    return Event(*values)


_EVENT_TIMES = time_places(EVENT)
_SYSTEM = EVENT.index("system")


def match_values(match: Match) -> dict[str, Any]:
    return msgspec.structs.asdict(match) | {"outcome": match.outcome.value}


def match_row(match: Match) -> tuple[Any, ...]:
    """In the order of the columns: there are many of them in a fan-out."""
    return match.event, match.subscriber, match.outcome.value, match.created_at, match.run, match.reason


def match_from(row: Sequence[Any]) -> Match:
    return Match(row[0], row[1], MatchOutcome(row[2]), row[3].astimezone(UTC), row[4], row[5])


def _retry_text(retry: Retry | None) -> str | None:
    return None if retry is None else msgspec.json.encode(retry).decode()


def _read(columns: Sequence[str], row: Sequence[Any]) -> dict[str, Any]:
    values = dict(zip(columns, row, strict=True))
    values |= {name: _utc(value) for name, value in values.items() if name in EVENT_TIMES}
    if "retry" in values:
        values["retry"] = None if values["retry"] is None else _retry.decode(values["retry"])
        values["enabled"] = bool(values["enabled"])
    return values


def trigger_values(trigger: Trigger) -> dict[str, Any]:
    return msgspec.structs.asdict(trigger) | {"retry": _retry_text(trigger.retry), "options": to_text(trigger.options)}


def trigger_from(row: Sequence[Any]) -> Trigger:
    values = _read(TRIGGER, row)
    return Trigger(**(values | {"options": from_text(values["options"])}))


def endpoint_values(endpoint: Endpoint) -> dict[str, Any]:
    values = msgspec.structs.asdict(endpoint)
    values["headers"] = values.pop("headers_text")
    values["patterns"] = msgspec.json.encode(endpoint.patterns).decode()
    values["secrets"] = msgspec.json.encode(endpoint.secrets).decode()
    return values | {"retry": _retry_text(endpoint.retry)}


def endpoint_from(row: Sequence[Any]) -> Endpoint:
    values = _read(ENDPOINT, row)
    values["headers_text"] = values.pop("headers")
    values["patterns"] = _names.decode(values["patterns"])
    values["secrets"] = _secrets.decode(values["secrets"])
    return Endpoint(**values)


def health_from(row: Sequence[Any]) -> Health:
    return Health(**_read(HEALTH, row))
