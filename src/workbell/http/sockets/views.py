"""Live views, shared by all who look at the same: one reader for each tenant, topic and filter, however many look on.

A view is read again after a hint of the store, but not more often than four times a second, and every two seconds
without one, because hints can be missed. A view that nobody looks at is not read, and not kept.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from workbell.errors import TooMany, WorkbellError
from workbell.http.sockets.frames import Subscribe, beginning
from workbell.http.sockets.snapshot import NOTHING, ViewSnapshot, way
from workbell.http.sockets.topics import READ, ViewSource, filter_of

log = logging.getLogger("workbell.http")

PACE = 0.25  # seconds between two looks at the least
POLL = 2.0  # and at the most
MOST_VIEWS = 1000
READERS = 4  # of the threads that all requests share; and of one tenant one

Key = tuple[Any, ...]


class Subscription:
    """One subscription to a view: how far it has been told. Whoever reads slowly is told less often, and never waited
    for: what it gets next is the way from what it has to what there is by then."""

    __slots__ = ("_beginning", "_bodies", "_target", "_told", "_view", "wake")

    def __init__(self, name: str, view: SharedView, wake: Callable[[], None]) -> None:
        self._beginning = beginning(name)
        self._view = view
        self.wake = wake
        self._told = NOTHING
        self._target = NOTHING
        self._bodies: list[str] = []  # what is left of the way to the target, the last one first

    def next(self) -> str | None:
        """The next message for the subscriber, if there is anything to tell."""
        if not self._bodies:
            self._told = self._target
            if self._told is self._view.now:
                return None
            self._bodies = self._view.way_from(self._told)[::-1]
            self._target = self._view.now
        return self._beginning + self._bodies.pop() if self._bodies else None

    def leave(self) -> None:
        self._view.leave(self)


class SharedView:
    """What all who look at it see, and who they are."""

    def __init__(self, views: Views, key: Key, source: ViewSource, asked: Subscribe) -> None:
        self._views = views
        self._key = key
        self._source = source
        self._asked = asked
        self.now = NOTHING
        self._ways: list[tuple[ViewSnapshot, list[str]]] = []  # to what is now, from what others have
        self._looks: set[Subscription] = set()
        self.hinted = asyncio.Event()
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.ready.add_done_callback(_look_at)
        self._task = asyncio.create_task(self._run(), name=f"workbell-view-{asked.topic}")

    def join(self, look: Subscription) -> None:
        self._looks.add(look)

    def leave(self, look: Subscription) -> None:
        self._looks.discard(look)
        self.end_if_unused()

    def end_if_unused(self) -> None:
        if not self._looks:
            self._task.cancel()
            self._views.forget(self._key, self)

    def way_from(self, told: ViewSnapshot) -> list[str]:
        """Made once for all that have been told the same."""
        for before, bodies in self._ways:
            if before is told:
                return bodies
        bodies = way(told, self.now)
        self._ways.append((told, bodies))
        return bodies

    async def _run(self) -> None:
        while True:
            self.hinted.clear()  # before it is read: what comes meanwhile is for the next time
            await self._read()
            await asyncio.sleep(PACE)
            try:
                async with asyncio.timeout(POLL - PACE):
                    await self.hinted.wait()
            except TimeoutError:
                pass

    async def _read(self) -> None:
        read, client = READ[self._asked.topic], self._source.client
        try:
            async with self._views.turn_of(client.tenant):
                found = await client.hop(read, self._source, self._asked, self.now)
        except Exception as error:  # whoever waits for the first look must hear of it, and the view goes on
            if not self.ready.done():
                self.ready.set_exception(error)
            else:
                unexpected = None if isinstance(error, WorkbellError) else error
                log.warning("the view of %s was not read: %s", self._asked.topic, error, exc_info=unexpected)
            return
        if not self.ready.done():
            self.ready.set_result(None)
        elif found == self.now:
            return
        self.now, self._ways = found, []
        for look in self._looks:
            look.wake()


def _look_at(ready: asyncio.Future[None]) -> None:
    """An error that nobody waited for any more is no news."""
    if not ready.cancelled():
        ready.exception()


class Views:
    """Every view that somebody looks at."""

    def __init__(self) -> None:
        self._views: dict[Key, SharedView] = {}
        self._reading = asyncio.Semaphore(READERS)
        self._turns: dict[str, asyncio.Lock] = {}

    def __len__(self) -> int:
        return len(self._views)

    async def look(self, source: ViewSource, asked: Subscribe, wake: Callable[[], None]) -> Subscription:
        """Look at a view, which has been read once when this returns; an error of the filter is raised here."""
        key = (source.client.tenant, asked.topic, *filter_of(asked))
        view = self._views.get(key)
        if view is None:
            if len(self._views) >= MOST_VIEWS:
                raise TooMany(f"{MOST_VIEWS:,} different views are being looked at; ask for one of these, or later.")
            view = self._views[key] = SharedView(self, key, source, asked)
        look = Subscription(asked.id, view, wake)
        view.join(look)
        try:
            await asyncio.shield(view.ready)
        except BaseException:
            view.leave(look)
            raise
        return look

    @asynccontextmanager
    async def turn_of(self, tenant: str) -> AsyncIterator[None]:
        """Views are read in turn: however many one tenant looks at, requests and other tenants do not wait for them."""
        async with self._turns.setdefault(tenant, asyncio.Lock()), self._reading:
            yield

    def hint(self) -> None:
        for view in self._views.values():
            view.hinted.set()

    def forget(self, key: Key, view: SharedView) -> None:
        if self._views.get(key) is view:
            del self._views[key]
        if not self._views:
            self._turns.clear()
