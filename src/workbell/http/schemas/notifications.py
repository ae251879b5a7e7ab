"""Notifications, and tickets for the WebSocket that brings them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import ConfigDict, Field

from workbell.http.schemas.base import AT, RUN_ID, RequestBody, Shown, User


class NotificationShown(Shown):
    """A notification to one person, or to everybody (`user_id` null)."""

    id: str = Field(examples=[RUN_ID])
    user_id: int | str | None
    data: Any
    created_at: datetime = Field(examples=[AT])
    read: bool
    read_at: datetime | None


class NewNotification(RequestBody):
    """A notification to send to one person, or to everybody of the tenant: `user_id` or `everybody`."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"user_id": 7, "data": {"text": "Your report is ready."}}]}
    )

    user_id: User | None = None
    everybody: bool = False
    data: Any


class ReadBody(RequestBody):
    """Which notifications were read: these, or all that there are."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"ids": [RUN_ID]}, {"all": True}]})

    ids: list[str] | None = Field(None, max_length=1000)
    all: bool = False


class ReadAnswer(Shown):
    read: int = Field(description="How many of them were unread.")


class TicketShown(Shown):
    ticket: str = Field(examples=["wb_…"])
    expires_at: datetime = Field(examples=[AT])
