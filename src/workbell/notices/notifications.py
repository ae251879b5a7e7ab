"""Notifications to people: `bell.notify(user_id, data)`, `bell.broadcast(data)`, and `bell.notifications` to read them.

A notification is stored first, so that nobody misses it by being away. Only then is it posted to the processes that
hold people's connections: a hint that makes it quick, and that they can do without.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from workbell.errors import InvalidOption
from workbell.model.ids import is_id, new_id
from workbell.model.json_text import encode
from workbell.model.notification import Notification
from workbell.model.run_settings import read_user
from workbell.model.users import UserId
from workbell.notices.push_message import Broadcast, Message, SendToUser
from workbell.runs.runtime import Runtime, in_thread

PAGE = 1000

Listed = list[Notification]  # also where `list` is the verb


class Notifier:
    """Notifies the people of one tenant: `bell.notify` and `bell.broadcast`."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def notify(self, user_id: UserId, data: Any) -> Notification:
        """Notify one person: it reaches their open connections, and is stored to be read later."""
        return self._notify(read_user(user_id), encode("notify: its data", data))

    anotify = in_thread(notify)

    def broadcast(self, data: Any) -> Notification:
        """Notify everybody of this tenant."""
        return self._notify(None, encode("broadcast: its data", data))

    abroadcast = in_thread(broadcast)

    def _notify(self, user_id: UserId | None, text: str) -> Notification:
        store = self._runtime.store
        new = Notification(new_id(), self._runtime.tenant, user_id, text, store.clock.now())
        store.notifications.add([new])
        store.wake()
        with suppress(OSError):  # the process at the other end is gone, and what is stored will be found
            self._runtime.hooks.post(message_of(new))
        return new


class Notifications:
    """`bell.notifications`: the notifications of a person, and which of them they have read."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def list(self, user_id: UserId, *, unread: bool = False, before: str | None = None, limit: int = 100) -> Listed:
        """A person's own and everybody's, newest first; `before` is the id of the last one of the page before."""
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= PAGE:
            raise InvalidOption(f"limit: {limit!r} is not from 1 to {PAGE:,}.")
        if before is not None and not is_id(before):
            raise InvalidOption(f"before: {before!r:.60} is not the id of a notification.")
        person, store = read_user(user_id), self._runtime.store
        return store.notifications.list(self._runtime.tenant, person, unread=unread, before=before, limit=limit)

    alist = in_thread(list)  # noqa: A003

    def mark_read(self, user_id: UserId, ids: Sequence[str] | None = None) -> int:
        """Mark notifications of a person as read, these or all; return how many were unread."""
        person, store = read_user(user_id), self._runtime.store
        if ids is not None:
            if isinstance(ids, str) or any(not isinstance(one, str) for one in ids):
                raise InvalidOption("ids: give a list of the ids of notifications, or nothing for all of them.")
            ids = [one for one in ids if is_id(one)]  # what is no id is nobody's notification
            if not ids:
                return 0
        return store.notifications.mark_read(self._runtime.tenant, person, ids, store.clock.now())

    amark_read = in_thread(mark_read)


def message_of(new: Notification) -> Message:
    """Push message of a notification; receivers recognise repeats by its id."""
    if new.user_id is None:
        return Broadcast(new.tenant, new.text, new.id, new.created_at)
    return SendToUser(new.tenant, new.user_id, new.text, new.id, new.created_at)


def notification_of(message: Message) -> Notification | None:
    """The notification of a push message; none, if it has no id."""
    if not message.id or message.created_at is None:
        return None
    user_id = message.user_id if isinstance(message, SendToUser) else None
    return Notification(message.id, message.tenant, user_id, message.text, message.created_at)
