"""Live views: one shared reader for each tenant, topic and filter, for any number of viewers.

A view is read again after a hint of the store, but not more often than four times a second, and every two seconds
without one, because hints can be missed. A view without subscriptions is removed.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from workbell.errors import TooMany, WorkbellError
from workbell.http.policies.open_limits import VIEWS, HeldBy, one_less, refusal
from workbell.http.sockets.frames import Subscribe, beginning
from workbell.http.sockets.topics import NOTHING, READ, ViewSnapshot, ViewSource, filter_of, way

log = logging.getLogger("workbell.http")

PACE = 0.25  # seconds between two reads at the least
POLL = 2.0  # and at the most
READERS = 4  # of the threads that all requests share; and of one tenant one

Key = tuple[Any, ...]


class Subscription:
    """One subscription to a view, and the snapshot that was sent to it. A slow reader gets fewer frames, nobody waits
    for it: its next frames lead from the snapshot it has to the newest one."""

    __slots__ = ("_beginning", "_bodies", "_sent", "_target", "_view", "wake", "who")

    def __init__(self, name: str, view: SharedView, wake: Callable[[], None], who: HeldBy) -> None:
        self._beginning = beginning(name)
        self._view = view
        self.who = who
        self.wake = wake
        self._sent = NOTHING
        self._target = NOTHING
        self._bodies: list[str] = []  # what is left of the way to the target, the last one first

    def next(self) -> str | None:
        """The next message for the subscriber, if anything has changed."""
        if not self._bodies:
            self._sent = self._target
            if self._sent is self._view.now:
                return None
            self._bodies = self._view.way_from(self._sent)[::-1]
            self._target = self._view.now
        return self._beginning + self._bodies.pop() if self._bodies else None

    def leave(self) -> None:
        self._view.leave(self)


class SharedView:
    """A view that is read once for all its subscriptions."""

    def __init__(self, views: Views, key: Key, source: ViewSource, asked: Subscribe) -> None:
        self._views = views
        self._key = key
        self._source = source
        self._asked = asked
        self.now = NOTHING
        self._ways: list[tuple[ViewSnapshot, list[str]]] = []  # to what is now, from what others have
        self._subscriptions: set[Subscription] = set()
        self._callers: Counter[HeldBy] = Counter()
        self.hinted = asyncio.Event()
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.ready.add_done_callback(_retrieve_error)
        self._task = asyncio.create_task(self._run(), name=f"workbell-view-{asked.topic}")

    def has(self, who: HeldBy) -> bool:
        """Whether this caller looks at it."""
        return who in self._callers

    def join(self, subscription: Subscription) -> None:
        self._subscriptions.add(subscription)
        self._callers[subscription.who] += 1

    def leave(self, subscription: Subscription) -> None:
        self._subscriptions.discard(subscription)
        one_less(self._callers, subscription.who)
        if not self.has(subscription.who):
            self._views.left_by(subscription.who)
        if not self._subscriptions:
            self._task.cancel()
            self._views.forget(self._key, self)

    def way_from(self, sent: ViewSnapshot) -> list[str]:
        """Frames from a sent snapshot to the newest; built once for all subscriptions that have the same one."""
        for before, bodies in self._ways:
            if before is sent:
                return bodies
        bodies = way(sent, self.now)
        self._ways.append((sent, bodies))
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
                found = await client.runtime.hop(read, self._source, self._asked, self.now)
        except Exception as error:  # the first read raises it in the subscriber, and the view goes on
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
        for subscription in self._subscriptions:
            subscription.wake()


def _retrieve_error(ready: asyncio.Future[None]) -> None:
    """Retrieve the exception, so that asyncio does not log one that nobody waits for."""
    if not ready.cancelled():
        ready.exception()


class Views:
    """All views that have subscriptions."""

    def __init__(self) -> None:
        self._views: dict[Key, SharedView] = {}
        self._of_callers: Counter[HeldBy] = Counter()  # different views that each looks at
        self._of_tenants: Counter[str] = Counter()
        self._reading = asyncio.Semaphore(READERS)
        self._turns: dict[str, asyncio.Lock] = {}

    def __len__(self) -> int:
        return len(self._views)

    async def subscribe(
        self, source: ViewSource, asked: Subscribe, wake: Callable[[], None], who: HeldBy
    ) -> Subscription:
        """Subscribe to a view, which has been read once when this returns; an error of the filter is raised here."""
        tenant = source.client.tenant
        key = (tenant, asked.topic, *filter_of(asked))
        view = self._views.get(key)
        if view is None or not view.has(who):
            new = view is None
            of_tenant, in_all = (self._of_tenants[tenant], len(self._views)) if new else (0, 0)
            why = refusal(VIEWS, who, self._of_callers[who], of_tenant, in_all)
            if why is not None:
                raise TooMany(f"{why}.")
            self._of_callers[who] += 1
        if view is None:
            view = self._views[key] = SharedView(self, key, source, asked)
            self._of_tenants[tenant] += 1
        subscription = Subscription(asked.id, view, wake, who)
        view.join(subscription)
        try:
            await asyncio.shield(view.ready)
        except BaseException:
            view.leave(subscription)
            raise
        return subscription

    @asynccontextmanager
    async def turn_of(self, tenant: str) -> AsyncIterator[None]:
        """Limit of concurrent reads: a tenant with many views delays neither requests nor other tenants."""
        async with self._turns.setdefault(tenant, asyncio.Lock()), self._reading:
            yield

    def hint(self) -> None:
        for view in self._views.values():
            view.hinted.set()

    def left_by(self, who: HeldBy) -> None:
        """A caller looks at one view less."""
        one_less(self._of_callers, who)

    def forget(self, key: Key, view: SharedView) -> None:
        if self._views.get(key) is view:
            del self._views[key]
            one_less(self._of_tenants, key[0])
        if not self._views:
            self._turns.clear()
