"""Subscribers as they are shown: triggers and endpoints of an event type, and the matches of an event."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from workbell.model.clock import Instant
from workbell.model.event import MatchOutcome

SubscriberKind = Literal["trigger", "endpoint"]
ABOUT_NAME = "Of an endpoint, its URL without the query."


class EventSubscriber(msgspec.Struct, frozen=True):
    """A trigger or an endpoint whose patterns match an event type; it starts runs only if it is enabled."""

    kind: SubscriberKind
    id: str
    name: Annotated[str, Meta(description=ABOUT_NAME)]
    patterns: Annotated[tuple[str, ...], Meta(description="Those of its patterns that match.")]
    enabled: bool
    reason: Annotated[str | None, Meta(description="Why it is disabled, where that was noted.")]
    job: Annotated[str | None, Meta(description="What a trigger starts.")]

    def as_dict(self) -> dict[str, Any]:
        return msgspec.structs.asdict(self)


class Matched(msgspec.Struct, frozen=True):
    """A match of an event, and its outcome."""

    event: str
    kind: Annotated[SubscriberKind | None, Meta(description="None once it was removed.")]
    subscriber: Annotated[str, Meta(description="The id of the trigger or endpoint.")]
    name: Annotated[str | None, Meta(description=ABOUT_NAME)]
    outcome: MatchOutcome
    run: str | None
    reason: str | None
    created_at: Instant

    def as_dict(self) -> dict[str, Any]:
        return msgspec.structs.asdict(self)
