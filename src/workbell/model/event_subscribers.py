"""Subscribers as they are shown: triggers and endpoints of an event type, and the matches of an event."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from workbell.model.event import MatchOutcome


class EventSubscriber(msgspec.Struct, frozen=True):
    """A trigger or an endpoint whose patterns match an event type; it starts runs only if it is enabled."""

    kind: str  # trigger or endpoint
    id: str
    name: str  # of an endpoint, its URL without the query
    patterns: tuple[str, ...]  # those of its patterns that match
    enabled: bool
    reason: str | None = None  # why it is disabled, where that was noted
    job: str | None = None  # what a trigger starts

    def as_dict(self) -> dict[str, Any]:
        return msgspec.structs.asdict(self)


class Matched(msgspec.Struct, frozen=True):
    """A match of an event, and its outcome."""

    event: str
    kind: str | None  # trigger or endpoint; none once it was removed
    subscriber: str
    name: str | None  # of an endpoint, its URL without the query
    outcome: MatchOutcome
    run: str | None
    reason: str | None
    created_at: datetime

    def as_dict(self) -> dict[str, Any]:
        return msgspec.structs.asdict(self)
