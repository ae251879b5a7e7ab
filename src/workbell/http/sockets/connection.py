"""WebSocket connection of one client: a receiving task, a sending task, and its subscriptions."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Protocol

from workbell.client.local import LocalClient
from workbell.errors import Forbidden, InvalidOption, TooMany, WorkbellError
from workbell.http.framework.problems import log_failure, public_words
from workbell.http.policies.open_limits import HeldBy
from workbell.http.sockets import frames
from workbell.http.sockets.feed import UNREAD, Feed, PassedOn
from workbell.http.sockets.frames import ClientMessage, Ping, Read, Subscribe, Topic, Unsubscribe
from workbell.http.sockets.outbox import Outbox
from workbell.http.sockets.topics import filter_of
from workbell.http.sockets.views import Subscription
from workbell.http.sockets.wire import TRY_AGAIN_LATER, Gone, Wire
from workbell.model.access import Access, Scope
from workbell.model.users import UserId

if TYPE_CHECKING:
    from workbell.http.sockets.hub import Hub

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
