"""Methods that emit events and send notifications, over HTTP."""

from __future__ import annotations

from typing import Any

import msgspec

from workbell.model.event import Event
from workbell.model.notification import Notification
from workbell.model.payload import encode
from workbell.model.users import UserId
from workbell.remote import service_words, words
from workbell.remote.call import RemoteCall, path, post
from workbell.remote.options import no_connection
from workbell.remote.transport import ServiceTransport


class RemoteEmitting:
    """The part of a client that emits events."""

    transport: ServiceTransport

    def emit(
        self,
        type: str,  # noqa: A002
        data: Any = None,
        *,
        subject: str | None = None,
        source: str | None = None,
        key: str | None = None,
        connection: Any = None,
    ) -> Event:
        """Emit an event: `client.emit("posts.created", {"id": 7})`; every trigger that matches it starts one run.

        Of events with one `source` and `key` there is one: emitted again, you get the first one.
        """
        return self.transport.send(_emit(type, data, subject, source, key, connection))

    async def aemit(
        self,
        type: str,  # noqa: A002
        data: Any = None,
        *,
        subject: str | None = None,
        source: str | None = None,
        key: str | None = None,
        connection: Any = None,
    ) -> Event:
        return await self.transport.asend(_emit(type, data, subject, source, key, connection))

    def notify(self, user_id: UserId, data: Any) -> Notification:
        """Notify one person: pushed to their open connections, and stored to be read later."""
        return self.transport.send(_notify(user_id, data))

    async def anotify(self, user_id: UserId, data: Any) -> Notification:
        return await self.transport.asend(_notify(user_id, data))

    def broadcast(self, data: Any) -> Notification:
        """Notify everybody of this tenant."""
        return self.transport.send(_broadcast(data))

    async def abroadcast(self, data: Any) -> Notification:
        return await self.transport.asend(_broadcast(data))


def _emit(
    type: str,  # noqa: A002
    data: Any,
    subject: str | None,
    source: str | None,
    key: str | None,
    connection: Any,
) -> RemoteCall[Event]:
    if connection is not None:
        no_connection()
    fields = {"type": type, "data": _json(f"event {type}: its data", data)}
    more = {"subject": subject, "source": source, "key": key}
    return post(
        path("events"), words.read_event, fields | {word: value for word, value in more.items() if value is not None}
    )


def _notify(user_id: UserId, data: Any) -> RemoteCall[Notification]:
    return post(
        path("notifications"),
        service_words.read_notification,
        {"user_id": user_id, "data": _json("notify: its data", data)},
    )


def _broadcast(data: Any) -> RemoteCall[Notification]:
    return post(
        path("notifications"),
        service_words.read_notification,
        {"everybody": True, "data": _json("broadcast: its data", data)},
    )


def _json(what: str, data: Any) -> msgspec.Raw:
    return msgspec.Raw(encode(what, data).encode())
