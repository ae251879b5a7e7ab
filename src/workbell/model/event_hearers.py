"""Who hears of an event, and who heard of one: triggers and endpoints, as they are shown."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from workbell.model.event import MatchOutcome


class Hearer(msgspec.Struct, frozen=True):
    """A trigger or an endpoint that hears of events of a type. Only if it is enabled does anything come of them."""

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
    """What an event matched, and what came of it."""

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
