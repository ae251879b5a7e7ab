"""Telling people: `bell.notify(user_id, data)`, `bell.broadcast(data)`, and `bell.notifications` for what was told.

A notification is a row first, so that nobody misses it by being away. Only then is it posted to the processes that hold
people's connections: a hint that makes it quick, and that they can do without.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, ParamSpec, Protocol, TypeVar

from workbell.errors import InvalidOption
from workbell.model.ids import is_id, new_id
from workbell.model.notification import Notification
from workbell.model.payload import encode
from workbell.model.run_settings import read_user
from workbell.model.users import UserId
from workbell.notices.push_message import Broadcast, Message, SendToUser
from workbell.stores.port import Store

T = TypeVar("T")
P = ParamSpec("P")

PAGE = 1000

Listed = list[Notification]  # also where `list` is the verb


class Notifying(ABC):
    """The part of a client that tells people something."""

    store: Store
    tenant: str
    post: Callable[[Message], None]  # where messages to people go

    @abstractmethod
    def hop(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Awaitable[T]: ...

    def notify(self, user_id: UserId, data: Any) -> Notification:
        """Tell one person something: it reaches the connections that they have, and is there to be read later."""
        return self._tell(read_user(user_id), encode("notify: its data", data))

    async def anotify(self, user_id: UserId, data: Any) -> Notification:
        return await self.hop(self.notify, user_id, data)

    def broadcast(self, data: Any) -> Notification:
        """Tell everybody of this tenant something."""
        return self._tell(None, encode("broadcast: its data", data))

    async def abroadcast(self, data: Any) -> Notification:
        return await self.hop(self.broadcast, data)

    def _tell(self, user_id: UserId | None, text: str) -> Notification:
        new = Notification(new_id(), self.tenant, user_id, text, self.store.clock.now())
        self.store.notifications.add([new])
        self.store.wake()
        with suppress(OSError):  # whoever is at the other end is gone, and what is stored will be found
            self.post(message_of(new))
        return new


class Reader(Protocol):
    """Whose notifications are read: the client of a tenant."""

    @property
    def store(self) -> Store: ...

    @property
    def tenant(self) -> str: ...

    async def hop(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T: ...


class Notifications:
    """`bell.notifications`: what a person was told, and which of it they have read."""

    def __init__(self, client: Reader) -> None:
        self._client = client

    def list(self, user_id: UserId, *, unread: bool = False, before: str | None = None, limit: int = 100) -> Listed:
        """A person's own and everybody's, newest first; `before` is the id of the last one of the page before."""
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= PAGE:
            raise InvalidOption(f"limit: {limit!r} is not from 1 to {PAGE:,}.")
        if before is not None and not is_id(before):
            raise InvalidOption(f"before: {before!r:.60} is not the id of a notification.")
        person, store = read_user(user_id), self._client.store
        return store.notifications.list(self._client.tenant, person, unread=unread, before=before, limit=limit)

    async def alist(
        self, user_id: UserId, *, unread: bool = False, before: str | None = None, limit: int = 100
    ) -> Listed:
        return await self._client.hop(lambda: self.list(user_id, unread=unread, before=before, limit=limit))

    def mark_read(self, user_id: UserId, ids: Sequence[str] | None = None) -> int:
        """Note that a person has read these, or all that there are; how many of them were unread."""
        person, store = read_user(user_id), self._client.store
        if ids is not None:
            if isinstance(ids, str) or any(not isinstance(one, str) for one in ids):
                raise InvalidOption("ids: give a list of the ids of notifications, or nothing for all of them.")
            ids = [one for one in ids if is_id(one)]  # what is no id is nobody's notification
            if not ids:
                return 0
        return store.notifications.mark_read(self._client.tenant, person, ids, store.clock.now())

    async def amark_read(self, user_id: UserId, ids: Sequence[str] | None = None) -> int:
        return await self._client.hop(self.mark_read, user_id, ids)


def message_of(new: Notification) -> Message:
    """What is posted of a notification, to be told apart by its id."""
    if new.user_id is None:
        return Broadcast(new.tenant, new.text, new.id, new.created_at)
    return SendToUser(new.tenant, new.user_id, new.text, new.id, new.created_at)


def notification_of(message: Message) -> Notification | None:
    """The notification behind a message; none, if it does not say which."""
    if not message.id or message.created_at is None:
        return None
    user_id = message.user_id if isinstance(message, SendToUser) else None
    return Notification(message.id, message.tenant, user_id, message.text, message.created_at)


def unposted(_message: Message) -> None:
    """Of a client that is not told where people are: who holds their connections looks into the store."""
