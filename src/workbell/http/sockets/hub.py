"""Hub of all WebSocket connections of this server: their limits, rates of messages, and the routing of messages."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from workbell.client.local import LocalClient
from workbell.errors import TooMany
from workbell.http.policies.open_limits import HeldBy, socket_limit
from workbell.http.policies.rate_limits import Allowance, CallerRates
from workbell.http.sockets import frames
from workbell.http.sockets.connection import SocketConnection, notification_body
from workbell.http.sockets.notifier import SocketNotifier
from workbell.http.sockets.topics import ViewSource
from workbell.http.sockets.views import Views
from workbell.http.sockets.wire import GOING_AWAY, REFUSED, TRY_AGAIN_LATER, Wire, close_reason
from workbell.model.access import Access
from workbell.model.notification import Notification
from workbell.model.users import user_number

if TYPE_CHECKING:
    from workbell.http.service import Service


OF_CALLER = Allowance(20, 200)  # messages, over all its sockets
OF_TENANT = Allowance(400, 2000)


class FrameRates:
    """Rates of all callers and tenants."""

    def __init__(self) -> None:
        self._rates = CallerRates(OF_CALLER, OF_TENANT)

    async def wait(self, who: HeldBy) -> None:
        """Return when a message of this caller may be read. Meanwhile its socket is not read, so TCP slows it down."""
        while pause := self._rates.take(who, time.monotonic()):
            await asyncio.sleep(pause)


STUCK_CHECK = 4.0  # seconds between two checks whether clients read
STUCK = 30.0  # seconds for which a client may not take a message


class Hub:
    """All WebSocket connections and their shared tasks, which run only while clients are connected."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self.connections: set[SocketConnection] = set()
        self._feeds: dict[str, dict[int, set[SocketConnection]]] = defaultdict(lambda: defaultdict(set))
        self.listeners: set[SocketConnection] = set()  # to notifications
        self.views = Views()
        self.frames = FrameRates()
        self._notifier = SocketNotifier(service.client, service.bus, self._pass_on)
        self._duties: list[asyncio.Task[None]] = []
        self._deafen: Callable[[], None] | None = None
        self._unwatch: Callable[[], None] = lambda: None

    def __len__(self) -> int:
        return len(self.connections)

    async def serve(self, wire: Wire, access: Access, client: LocalClient) -> None:
        """A client that was let in, until it goes."""
        who, settings, opened = HeldBy.caller(client.tenant, access), self._service.settings, self._service.opened
        try:
            opened.sockets.take(socket_limit(settings.sockets, settings.sockets_per_user), who)
        except TooMany as refusal:  # a browser shows one only once it is connected
            await wire.send(frames.refused("TooMany", str(refusal)))
            await wire.end(TRY_AGAIN_LATER, close_reason(str(refusal)))
            return
        connection = SocketConnection(self, wire, access, client, who)
        try:
            self.connections.add(connection)
            self._begin()
            with self._service.access_watch.watch(access, wire.request) as watched:
                watched.over.add_done_callback(lambda over: connection.end(REFUSED, over.result()))
                await connection.run()
        finally:
            self.connections.discard(connection)
            opened.sockets.give_back(who)
            if not self.connections:
                self._cease()

    def source_of(self, client: LocalClient) -> ViewSource:
        """Source of the views of a tenant."""
        return ViewSource(client, self._service.jobs, self._service.client.tenant)

    # While somebody is connected

    def _begin(self) -> None:
        if not self._duties:
            self._duties = [asyncio.create_task(self._until_stopping()), asyncio.create_task(self._end_stuck())]
            self._deafen = self._service.hint_listener.listen(self._hint)
            self._unwatch = self._service.jobs.on_change(self._reloaded(asyncio.get_running_loop()))

    def _cease(self) -> None:
        for duty in self._duties:
            duty.cancel()
        self._duties = []
        if self._deafen is not None:
            self._deafen()
            self._deafen = None
            self._unwatch()

    def _reloaded(self, loop: asyncio.AbstractEventLoop) -> Callable[[object], None]:
        """Callback after a reload of job files, on a thread: a broken file writes nothing that would be a hint."""

        def hint(_change: object) -> None:
            with suppress(RuntimeError):  # the event loop is closed
                loop.call_soon_threadsafe(self.views.hint)

        return hint

    def _hint(self) -> None:
        self.views.hint()
        self._notifier.hinted.set()

    async def _until_stopping(self) -> None:
        await self._service.stopping.wait()
        for connection in list(self.connections):
            connection.end(GOING_AWAY, "the server stops")

    async def _end_stuck(self) -> None:
        """Close connections that read nothing."""
        while True:
            await asyncio.sleep(STUCK_CHECK)
            for connection in list(self.connections):
                if connection.is_stuck(STUCK):
                    connection.end(TRY_AGAIN_LATER, "you read too slowly; connect again")

    # Notifications

    async def join_feed(self, connection: SocketConnection) -> None:
        """Add a connection to the notification feed; from the return on, it gets every new notification."""
        assert connection.access.user_id is not None
        self.listeners.add(connection)
        self._feeds[connection.client.tenant][user_number(connection.access.user_id)].add(connection)
        await self._notifier.start()

    def leave_feed(self, connection: SocketConnection) -> None:
        tenant, user = connection.client.tenant, connection.access.user_id
        assert user is not None
        person, people = user_number(user), self._feeds[tenant]
        people[person].discard(connection)
        if not people[person]:
            del people[person]
        if not people:
            del self._feeds[tenant]
        self.listeners.discard(connection)
        if not self.listeners:
            self._notifier.stop()

    def _pass_on(self, new: Notification) -> None:
        people = self._feeds.get(new.tenant)
        if not people:
            return
        text = notification_body(new)  # once, for all
        for person in list(people) if new.user_id is None else [user_number(new.user_id)]:
            for connection in list(people.get(person, ())):
                if connection.feed is not None:
                    connection.feed.offer(new.id, text)
