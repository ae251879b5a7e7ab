"""Notifications to people."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from workbell.model.access import Scope
from workbell.model.clock import Instant
from workbell.model.notification import Notification
from workbell.model.schema_examples import AT, RUN_ID
from workbell.model.unreadable import UNREADABLE
from workbell.wire.fields import Cursor, Limit, User, raw, readable
from workbell.wire.operation import ListPage, Operations, Query, RequestBody, Shown


class NotificationShown(Shown, frozen=True, kw_only=True):
    """A notification to one person, or to everybody (`user_id` null)."""

    id: Annotated[str, Meta(examples=[RUN_ID])]
    user_id: Annotated[int | str | None, Meta(description="The recipient; null: everybody of the tenant.")]
    data: Any
    created_at: Annotated[Instant, Meta(examples=[AT])]
    read: Annotated[bool, Meta(description="Whether the caller has read it.")]
    read_at: Instant | None
    unreadable: Annotated[str | None, Meta(description=UNREADABLE)]

    @classmethod
    def of(cls, one: Notification) -> NotificationShown:
        own = {name: getattr(one, name) for name in cls.__struct_fields__ if name != "data"}
        return cls(data=raw(readable(one.text)), **own)

    def value(self) -> Notification:
        """The notification; its tenant is the caller's."""
        own = {name: getattr(self, name) for name in self.__struct_fields__ if name in Notification.__struct_fields__}
        return Notification(**own, tenant="", text=msgspec.json.encode(self.data).decode())


class NewNotification(RequestBody, frozen=True, kw_only=True):
    """A notification to send to one person, or to everybody of the tenant: `user_id` or `everybody`."""

    user_id: User | None = None
    everybody: bool = False
    data: Any


class ReadBody(RequestBody, frozen=True, kw_only=True):
    """Which notifications were read: these, or all that there are."""

    ids: Annotated[list[str], Meta(max_length=1000)] | None = None
    all: bool = False


class ReadAnswer(Shown, frozen=True, kw_only=True):
    """Count of notifications that were marked."""

    read: Annotated[int, Meta(description="How many of them were unread.")]


class NotificationsQuery(Query, frozen=True, kw_only=True):
    """Page of notifications."""

    unread: Annotated[bool, Meta(description="Only those that were not read yet.")] = False
    before: Cursor | None = None
    limit: Limit = 100


operations = Operations("notifications")

list_ = operations.add(
    "list",
    "GET",
    "/notifications",
    None,
    ListPage[NotificationShown],
    "List your notifications, newest first: those of the token's user.",
    query=NotificationsQuery,
)
mark_read = operations.add(
    "mark_read",
    "POST",
    "/notifications/read",
    None,
    ReadAnswer,
    "Mark notifications as read: some by their ids, or all.",
    body=ReadBody,
    examples=[{"ids": [RUN_ID]}, {"all": True}],
)
tell = operations.add(
    "tell",
    "POST",
    "/notifications",
    Scope.OPERATE,
    NotificationShown,
    "Send a notification to one person, or to everybody of the tenant.",
    status=201,
    creates=True,
    body=NewNotification,
    examples=[{"user_id": 7, "data": {"text": "Your report is ready."}}],
)
