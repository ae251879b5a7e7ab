"""WebSocket connection of one client: its receiving and sending tasks, its bounded queue, subscriptions and feed."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

from workbell.client.local import LocalClient
from workbell.errors import Forbidden, InvalidOption, TooMany, WorkbellError
from workbell.http.framework.problems import log_failure, public_words
from workbell.http.policies.open_limits import HeldBy
from workbell.http.sockets import frames
from workbell.http.sockets.frames import (
    ClientMessage,
    Ping,
    Read,
    Subscribe,
    Topic,
    Unsubscribe,
    beginning,
    body,
    encode,
)
from workbell.http.sockets.topics import filter_of
from workbell.http.sockets.views import Subscription
from workbell.http.sockets.wire import TRY_AGAIN_LATER, Gone, Wire
from workbell.model.access import Access, Scope
from workbell.model.notification import Notification
from workbell.model.users import UserId

if TYPE_CHECKING:
    from workbell.http.sockets.hub import Hub


MOST = 1000  # messages
MOST_LETTERS = 1024 * 1024


class Outbox:
    """First in, first out. One message always fits, however long it is."""

    __slots__ = ("_letters", "_waiting")

    def __init__(self) -> None:
        self._waiting: deque[str] = deque()
        self._letters = 0

    def put(self, text: str) -> bool:
        """Whether there was room."""
        if self._waiting and (len(self._waiting) >= MOST or self._letters + len(text) > MOST_LETTERS):
            return False
        self._waiting.append(text)
        self._letters += len(text)
        return True

    def take(self) -> str | None:
        if not self._waiting:
            return None
        text = self._waiting.popleft()
        self._letters -= len(text)
        return text

    def __len__(self) -> int:
        return len(self._waiting)


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


MOST_SUBSCRIPTIONS = 20


class MessageSource(Protocol):
    """Source of messages for the client: a subscription or the notification feed."""

    def next(self) -> str | None: ...


class SocketConnection:
    def __init__(self, hub: Hub, wire: Wire, access: Access, client: LocalClient, who: HeldBy) -> None:
        self.access = access
        self.who = who
        self.client = client
        self.feed: Feed | None = None
        self._hub = hub
        self._wire = wire
        self._answers = Outbox()
        self._sources: dict[str, MessageSource] = {}
        self._turns: deque[str] = deque()  # whose message comes next
        self._feed_name = ""
        self._passed_on = PassedOn()
        self._wake = asyncio.Event()
        self._ended: asyncio.Future[tuple[int, str]] = asyncio.get_running_loop().create_future()
        self._sending_since: float | None = None

    async def run(self) -> None:
        """Serve the connection until the client leaves, or is disconnected."""
        self.send(frames.CONNECTED)
        tasks = [asyncio.create_task(self._receive_all()), asyncio.create_task(self._send_all())]
        try:
            ends: list[asyncio.Future[Any]] = [*tasks, self._ended]
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            outcomes = await asyncio.gather(*tasks, return_exceptions=True)
            for name in list(self._sources):
                self._leave(name)
        if self._ended.done():
            await self._wire.end(*self._ended.result())
        for outcome in outcomes:
            if isinstance(outcome, Exception) and not isinstance(outcome, Gone):
                raise outcome

    def end(self, code: int, reason: str) -> None:
        """Disconnect the client, without waiting for it."""
        if not self._ended.done():
            self._ended.set_result((code, reason))

    def is_stuck(self, patience: float) -> bool:
        """Whether the client has not read the last message for so long."""
        return self._sending_since is not None and time.monotonic() - self._sending_since > patience

    # To the client

    def send(self, text: str) -> None:
        if not self._answers.put(text):
            self._too_slow()
        self._wake.set()

    def _too_slow(self) -> None:
        self.end(TRY_AGAIN_LATER, "you read too slowly; connect again")

    async def _send_all(self) -> None:
        while True:
            text = self._next()
            if text is None:
                self._wake.clear()
                await self._wake.wait()
                continue
            self._sending_since = time.monotonic()
            await self._wire.send(text)
            self._sending_since = None

    def _next(self) -> str | None:
        """Answers first, then what the subscriptions have, in turns."""
        text = self._answers.take()
        if text is not None:
            return text
        for _ in range(len(self._turns)):
            name = self._turns[0]
            self._turns.rotate(-1)
            text = self._sources[name].next()
            if text is not None:
                return text
        return None

    # From the client

    async def _receive_all(self) -> None:
        while True:
            frame = await self._wire.receive()
            await self._hub.frames.wait(self.who)
            name = None
            try:
                message = frames.decode(frame)
                name = message.id if isinstance(message, Subscribe | Unsubscribe) else None
                await self._on(message)
            except WorkbellError as error:
                log_failure(error)
                self.send(frames.refused(type(error).__name__, public_words(error), name))

    async def _on(self, message: ClientMessage) -> None:
        match message:
            case Ping():
                self.send(frames.PONG)
            case Subscribe():
                await self._subscribe(message)
            case Unsubscribe(name):
                if name not in self._sources:
                    raise InvalidOption(f"id: there is no subscription {name!r}.")
                self._leave(name)
                self.send(frames.unsubscribed(name))
            case Read(ids):
                count = await self.client.notifications.amark_read(self._person(), ids)
                self.send(frames.was_read(count))

    async def _subscribe(self, asked: Subscribe) -> None:
        if asked.id in self._sources:
            raise InvalidOption(f"id: there is a subscription {asked.id!r} already; choose another name.")
        if len(self._sources) >= MOST_SUBSCRIPTIONS:
            raise TooMany(
                f"this connection has {MOST_SUBSCRIPTIONS} subscriptions, as many as one may; end one of them."
            )
        filter_of(asked)
        if asked.topic is Topic.NOTIFICATIONS:
            await self._subscribe_to_notifications(asked)
            return
        if not self.access.may(Scope.READ):
            raise Forbidden(f"the topic {asked.topic} needs the scope read.")
        source = self._hub.source_of(self.client)
        subscription = await self._hub.views.subscribe(source, asked, self._wake.set, self.who)
        self._add(asked.id, subscription)

    async def _subscribe_to_notifications(self, asked: Subscribe) -> None:
        person = self._person()
        if self.feed is not None:
            raise InvalidOption(f"id: the subscription {self._feed_name!r} has the notifications already.")
        feed = self.feed = Feed(asked.id, self._passed_on, self._wake.set, self._too_slow)
        self._feed_name = asked.id
        try:
            await self._hub.join_feed(self)  # from here on new ones come in; only then is read what was there before
            unread = await self.client.notifications.alist(person, unread=True, limit=UNREAD)
        except BaseException:
            self.feed = None
            self._hub.leave_feed(self)
            raise
        self._add(asked.id, feed)
        feed.open(reversed(unread))

    def _person(self) -> UserId:
        if self.access.user_id is None:
            raise Forbidden("the token belongs to no person, and has no notifications; make one with a user_id.")
        return self.access.user_id

    def _add(self, name: str, source: MessageSource) -> None:
        self._sources[name] = source
        self._turns.append(name)
        self.send(frames.subscribed(name))

    def _leave(self, name: str) -> None:
        source = self._sources.pop(name)
        self._turns.remove(name)
        if isinstance(source, Subscription):
            source.leave()
        else:
            self.feed = None
            self._hub.leave_feed(self)
