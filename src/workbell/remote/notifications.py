"""Methods that read notifications, over HTTP: `client.notifications`. They are those of the token's own person."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from workbell.errors import InvalidOption
from workbell.model.notification import Notification
from workbell.remote import readers
from workbell.remote import service_words as words
from workbell.remote.call import Plan, RemoteCall, path, post
from workbell.remote.transport import ServiceTransport


class WasRead(msgspec.Struct, frozen=True):
    """Number of notifications that were unread."""

    read: int


_read_count = readers.plain(WasRead)


class RemoteNotifications:
    """Notifications of the token's user, and which of them are read; the token is one made with a `user_id`."""

    def __init__(self, transport: ServiceTransport) -> None:
        self._transport = transport

    def list(self, *, unread: bool = False, before: str | None = None, limit: int = 100) -> list[Notification]:
        """One's own and everybody's, newest first; `before` is the id of the last one of the page before."""
        return self._transport.follow(_list(unread, before, limit))

    async def alist(
        self, *, unread: bool = False, before: str | None = None, limit: int = 100
    ) -> Sequence[Notification]:
        return await self._transport.afollow(_list(unread, before, limit))

    def mark_read(self, ids: Sequence[str] | None = None) -> int:
        """Note that these were read, or all that there are; how many of them were unread."""
        return self._transport.send(_mark_read(ids)).read

    async def amark_read(self, ids: Sequence[str] | None = None) -> int:
        return (await self._transport.asend(_mark_read(ids))).read


def _list(unread: bool, before: str | None, limit: int) -> Plan[list[Notification]]:
    return readers.up_to(limit, path("notifications"), words.read_notifications, start=before, unread=unread)


def _mark_read(ids: Sequence[str] | None) -> RemoteCall[WasRead]:
    if isinstance(ids, str):
        raise InvalidOption("ids: give a list of the ids of notifications, or nothing for all of them.")
    return post(path("notifications", "read"), _read_count, {"all": True} if ids is None else {"ids": [*ids]})
