"""Schemas of events, matches and the pattern tester."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import ConfigDict, Field

from workbell.http.schemas.base import AT, RUN_ID, RequestBody, Shown, When
from workbell.model.event import MatchOutcome

Text = str | None
EVENT: dict[str, Any] = {"type": "posts.created", "data": {"id": 7}, "subject": "7", "key": "post-7"}


class EventBody(RequestBody):
    """An event to emit. Of events with one source and key there is one."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [EVENT]})

    type: str = Field(min_length=1, max_length=256, description="Segments with dots between them.")
    data: Any = None
    subject: Text = Field(None, min_length=1, max_length=1024)
    source: Text = Field(None, min_length=1, max_length=1024)
    key: Text = Field(None, min_length=1, max_length=200, description="What you know it by.")


class NewEvents(RequestBody):
    """Many events, emitted in one transaction: all of them or none."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"events": [EVENT]}]})

    events: list[EventBody] = Field(min_length=1, max_length=1000)


class CloudEvent(RequestBody):
    """A fact as CloudEvents 1.0 writes it in JSON; its `id` becomes the key. Extensions are passed over."""

    model_config = ConfigDict(
        extra="ignore",
        json_schema_extra={
            "examples": [
                {"specversion": "1.0", "id": "post-7", "source": "/blog", "type": "posts.created", "data": {"id": 7}}
            ]
        },
    )

    specversion: Literal["1.0"]
    id: str = Field(min_length=1, max_length=200)
    source: str = Field(min_length=1, max_length=1024)
    type: str = Field(min_length=1, max_length=256)
    subject: Text = Field(None, min_length=1, max_length=1024)
    time: When | None = None
    data: Any = None
    data_base64: None = Field(None, description="Data that is not JSON is not taken.")


class EventShown(Shown):
    """An event that was emitted."""

    id: str = Field(examples=[RUN_ID])
    type: str = Field(examples=["posts.created"])
    source: str = Field(examples=["/blog"])
    subject: str | None
    time: datetime = Field(examples=[AT])
    data: Any = Field(examples=[{"id": 7}])
    key: str | None
    tenant: str
    system: bool = Field(description="Emitted by Workbell itself.")
    depth: int = Field(description="How many events lie behind it, each the cause of the next.")
    cause: str | None = Field(description="The run that emitted it, or that it is about.")
    created_at: datetime
    fanned_out_at: datetime | None = Field(description="When it was held against all triggers and endpoints.")


class EventPage(Shown):
    items: list[EventShown]


class MatchedShown(Shown):
    """A match of an event, and its outcome."""

    event: str
    kind: Literal["trigger", "endpoint"] | None = Field(description="None once it was removed.")
    subscriber: str = Field(description="The id of the trigger or endpoint.")
    name: str | None = Field(description="Of an endpoint, its URL without the query.")
    outcome: MatchOutcome
    run: str | None
    reason: str | None
    created_at: datetime


class EventSubscriberShown(Shown):
    """A trigger or an endpoint that matches an event type; only an enabled one starts anything."""

    kind: Literal["trigger", "endpoint"]
    id: str
    name: str = Field(description="Of an endpoint, its URL without the query.")
    patterns: list[str] = Field(description="Those of its patterns that match.")
    enabled: bool
    reason: str | None = Field(description="Why it is disabled, where that was noted.")
    job: str | None = Field(description="What a trigger starts.")


class EventSubscribers(Shown):
    items: list[EventSubscriberShown]
    matches: bool | None = Field(description="Whether the pattern that was asked about matches; none without one.")


class EventCount(Shown):
    """Number of an event's matches, counted up to 100; `capped` says that there is more."""

    event: str
    type: str
    fanned_out: bool = Field(description="Whether it was held against all triggers and endpoints yet.")
    count: int
    started: int = Field(description="Of these, those that became a run.")
    capped: bool


class EventCounts(Shown):
    items: list[EventCount]
