"""Events: emit, list and show them, and test patterns."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from workbell.model.access import Scope
from workbell.model.event import Event
from workbell.model.event_count import EventCount
from workbell.model.event_subscribers import EventSubscriber, Matched
from workbell.model.schema_examples import RUN_ID
from workbell.model.unreadable import UNREADABLE
from workbell.wire.fields import Cursor, Limit, Time, When, raw
from workbell.wire.operation import IDEMPOTENCY_KEY, Items, ListPage, Operations, Query, RequestBody, Shown

CLOUD_EVENTS = "application/cloudevents+json"
EVENT: dict[str, Any] = {"type": "posts.created", "data": {"id": 7}, "subject": "7", "key": "post-7"}

EventType = Annotated[str, Meta(min_length=1, max_length=256)]
EventText = Annotated[str, Meta(min_length=1, max_length=1024)]
EventKey = Annotated[str, Meta(min_length=1, max_length=200)]


class EventBody(RequestBody, frozen=True, kw_only=True):
    """An event to emit. Of events with one source and key there is one."""

    type: Annotated[EventType, Meta(description="Segments with dots between them.")]
    data: Any = None
    subject: EventText | None = None
    source: EventText | None = None
    key: Annotated[EventKey | None, Meta(description="What you know it by.")] = None


class NewEvents(RequestBody, frozen=True, kw_only=True):
    """Many events, emitted in one transaction: all of them or none."""

    events: Annotated[list[EventBody], Meta(min_length=1, max_length=1000)]


class CloudEvent(RequestBody, frozen=True, kw_only=True, forbid_unknown_fields=False):
    """A fact as CloudEvents 1.0 writes it in JSON; its `id` becomes the key. Extensions are passed over."""

    specversion: Annotated[Literal["1.0"], Meta(examples=["1.0"])]
    id: Annotated[EventKey, Meta(examples=["post-7"])]
    source: Annotated[EventText, Meta(examples=["/blog"])]
    type: Annotated[EventType, Meta(examples=["posts.created"])]
    subject: EventText | None = None
    time: When | None = None
    data: Annotated[Any, Meta(examples=[{"id": 7}])] = None
    data_base64: Annotated[None, Meta(description="Data that is not JSON is not taken.")] = None


class EventShown(Shown, frozen=True, kw_only=True):
    """An event that was emitted."""

    id: Annotated[str, Meta(description="Its id; webhooks have it as `webhook-id`.", examples=[RUN_ID])]
    type: Annotated[str, Meta(description="What happened.", examples=["posts.created"])]
    source: Annotated[str, Meta(description="Who emitted it.", examples=["/blog"])]
    subject: Annotated[str | None, Meta(description="What it is about.")]
    time: Time
    data: Annotated[Any, Meta(description="What it carries.", examples=[{"id": 7}])]
    key: Annotated[str | None, Meta(description="Of events with one source and key there is one.")]
    tenant: str
    system: Annotated[bool, Meta(description="Emitted by Workbell itself.")]
    depth: Annotated[int, Meta(description="How many events lie behind it, each the cause of the next.")]
    cause: Annotated[str | None, Meta(description="The run that emitted it, or that it is about.")]
    created_at: Time
    fanned_out_at: Annotated[Time | None, Meta(description="When it was held against all triggers and endpoints.")]
    unreadable: Annotated[str | None, Meta(description=UNREADABLE)]

    @classmethod
    def of(cls, event: Event) -> EventShown:
        """An event as it is sent; its data is passed on as it is stored, without being decoded."""
        plain = {name: getattr(event, name) for name in _PLAIN}
        return cls(**plain, data=raw(event.data_text if plain["unreadable"] is None else None))

    def value(self) -> Event:
        return Event(
            **{name: getattr(self, name) for name in _PLAIN if name != "unreadable"},
            data_text=msgspec.json.encode(self.data).decode(),
        )


PUBLIC_FIELDS = EventShown.__struct_fields__
_PLAIN = [name for name in PUBLIC_FIELDS if name != "data"]


class EventSubscribers(Shown, frozen=True, kw_only=True):
    """Triggers and endpoints that match a type of event."""

    items: list[EventSubscriber]
    matches: Annotated[
        bool | None, Meta(description="Whether the pattern that was asked about matches; none without one.")
    ]


class EventsQuery(Query, frozen=True, kw_only=True):
    type: Annotated[Annotated[str, Meta(max_length=256)] | None, Meta(description="A type or a pattern.")] = None
    before: Cursor | None = None
    limit: Limit = 100


class MatchQuery(Query, frozen=True, kw_only=True):
    type: Annotated[EventType, Meta(examples=["posts.created"])]
    system: Annotated[bool | None, Meta(description="One of Workbell's own; left out, the type decides.")] = None
    pattern: Annotated[EventType, Meta(examples=["posts.*"])] | None = None


class CountsQuery(Query, frozen=True, kw_only=True):
    event: Annotated[list[str], Meta(min_length=1, max_length=100, description="Their ids.")]


class MatchesQuery(Query, frozen=True, kw_only=True):
    after: Cursor | None = None
    limit: Limit = 100


operations = Operations("events")

emit = operations.add(
    "emit",
    "POST",
    "/events",
    Scope.ENQUEUE,
    EventShown,
    """Emit an event: every matching trigger starts a run, every matching endpoint is sent it.

The `Idempotency-Key` becomes the event's key: emitted again, the first one is answered. If the event has
a key of its own, the answer is remembered instead. A CloudEvent is taken as it is, with its `id` as the key.""",
    status=201,
    body=EventBody,
    other_bodies={CLOUD_EVENTS: CloudEvent},
    examples=[EVENT],
    headers=(IDEMPOTENCY_KEY,),
)
emit_batch = operations.add(
    "emit_batch",
    "POST",
    "/events/batch",
    Scope.ENQUEUE,
    Items[EventShown],
    "Emit up to 1,000 events in one transaction: all of them or none.",
    status=201,
    body=NewEvents,
    examples=[{"events": [EVENT]}],
    headers=(IDEMPOTENCY_KEY,),
)
list_ = operations.add(
    "list",
    "GET",
    "/events",
    Scope.READ,
    ListPage[EventShown],
    "List events, newest first; those of a pattern among the 10,000 before the cursor.",
    query=EventsQuery,
)
match = operations.add(
    "match",
    "GET",
    "/events/match",
    Scope.READ,
    EventSubscribers,
    """List the triggers and endpoints that match a type of event; nothing is emitted.

A `pattern` is tried as well: `matches` says whether it matches the type.""",
    query=MatchQuery,
)
counts = operations.add(
    "counts",
    "GET",
    "/events/counts",
    Scope.READ,
    Items[EventCount],
    "Say of many events how much each matched, and how much of that became a run; those not found are left out.",
    query=CountsQuery,
)
get = operations.add("get", "GET", "/events/{event_id}", Scope.READ, EventShown, "Show an event.")
matches = operations.add(
    "matches",
    "GET",
    "/events/{event_id}/matches",
    Scope.READ,
    ListPage[Matched],
    "List the matches of an event with their outcomes; none before it was fanned out.",
    query=MatchesQuery,
)
