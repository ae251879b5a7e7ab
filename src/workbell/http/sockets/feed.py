"""A person's notifications on one connection: those that wait to be read, then the new ones, none of them twice."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable

from workbell.http.sockets.frames import beginning, body, encode
from workbell.http.sockets.outbox import Outbox
from workbell.model.notification import Notification

UNREAD = 100  # of those that wait, the newest
REMEMBERED = 3 * UNREAD  # ids that were passed on: more than can be found again among the unread


class PassedOn:
    """Ids of notifications that were sent over a connection, also to an earlier subscription."""

    __slots__ = ("_ids",)

    def __init__(self) -> None:
        self._ids: OrderedDict[str, None] = OrderedDict()

    def add(self, notification_id: str) -> bool:
        """Whether it is new."""
        if notification_id in self._ids:
            return False
        self._ids[notification_id] = None
        if len(self._ids) > REMEMBERED:
            self._ids.popitem(last=False)
        return True


class Feed:
    """One subscription to notifications. New ones wait until those from before are in."""

    __slots__ = ("_backlog", "_beginning", "_held", "_new", "_passed_on", "_too_slow", "_wake")

    def __init__(self, name: str, passed_on: PassedOn, wake: Callable[[], None], too_slow: Callable[[], None]) -> None:
        self._beginning = beginning(name)
        self._passed_on = passed_on
        self._wake = wake
        self._too_slow = too_slow
        self._backlog: deque[str] = deque()
        self._held: list[tuple[str, str]] | None = []
        self._new = Outbox()

    def open(self, unread: Iterable[Notification]) -> None:
        """Begin with what waits to be read, oldest first; there is always an answer, if only an empty one."""
        bodies = [notification_body(one) for one in unread if self._passed_on.add(one.id)]
        self._backlog.extend(bodies or [body([])])
        held, self._held = self._held or [], None
        for notification_id, text in held:
            self.offer(notification_id, text)
        self._wake()

    def offer(self, notification_id: str, text: str) -> None:
        """A new one, encoded for all that get it."""
        if self._held is not None:
            self._held.append((notification_id, text))
        elif self._passed_on.add(notification_id):
            if not self._new.put(text):
                self._too_slow()
            self._wake()

    def next(self) -> str | None:
        text = self._backlog.popleft() if self._backlog else self._new.take()
        return None if text is None else self._beginning + text


def notification_body(notification: Notification) -> str:
    return body([encode(notification.as_dict())])
