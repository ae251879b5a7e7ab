"""Pushes new notifications: those of this process at once, those of others as they appear in the store.

Ids carry the time they were made at, and one may be committed after one that is younger. So the last minute is read
again and again, and the ids that were passed on are remembered: one that the bus brought is not sent again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from workbell.client.local import LocalClient
from workbell.errors import WorkbellError
from workbell.model.ids import new_id
from workbell.model.notification import Notification
from workbell.notices.bus import Bus
from workbell.notices.notifications import notification_of
from workbell.notices.push_message import Message

log = logging.getLogger("workbell.http")

WINDOW = 60.0  # seconds: how late a notification may be committed after its id was made
RECENT = 1.0  # seconds within which that is usual: read at every hint
GAP = 0.05  # seconds between two reads, however many hints there are
POLL = 2.0  # seconds without a hint after which the store is polled
THOROUGH = 2.0  # seconds between two reads of the whole window
PAGE = 1000


class SocketNotifier:
    """Pushes new notifications to feeds; runs while there are any."""

    def __init__(self, client: LocalClient, bus: Bus, pass_on: Callable[[Notification], None]) -> None:
        self._client = client
        self._bus = bus
        self._pass_on = pass_on
        self._passed_on: set[str] = set()
        self._last = self._floor = ""
        self._thorough_at = 0.0
        self.hinted = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._starting: asyncio.Task[None] | None = None
        self._deafen: Callable[[], None] = lambda: None

    async def start(self) -> None:
        """Start; from the return on, every new notification is passed on."""
        if self._task is None:
            if self._starting is None:
                self._starting = asyncio.create_task(self._start())
            await asyncio.shield(self._starting)

    async def _start(self) -> None:
        try:
            self._passed_on, self._last, self._floor, self._thorough_at = set(), "", "", 0.0
            await self._poll(quietly=True)
            loop = asyncio.get_running_loop()
            self._deafen = self._bus.on_message(lambda message: self._receive(loop, message))
            self._task = asyncio.create_task(self._run(), name="workbell-notifier")
        finally:
            if self._starting is asyncio.current_task():
                self._starting = None

    def stop(self) -> None:
        if self._starting is not None:
            self._starting.cancel()
            self._starting = None  # who comes now begins anew, and does not wait for what was given up
        if self._task is not None:
            self._task.cancel()
            self._task = None
            self._deafen()

    def _receive(self, loop: asyncio.AbstractEventLoop, message: Message) -> None:
        """Callback of the bus, on the publisher's thread."""
        found = notification_of(message)
        if found is not None:
            try:
                loop.call_soon_threadsafe(self._pass_on_received, found)
            except RuntimeError:  # the event loop is closed
                return

    def _pass_on_received(self, new: Notification) -> None:
        # One that comes so late was read from the store long ago, and its id is forgotten.
        if self._task is not None and new.id >= self._floor:
            self._pass_on_once(new)

    def _pass_on_once(self, new: Notification) -> None:
        if new.id not in self._passed_on:
            self._passed_on.add(new.id)
            self._pass_on(new)

    async def _run(self) -> None:
        while True:
            self.hinted.clear()
            try:
                await self._poll()
            except WorkbellError as error:
                log.warning("new notifications were not read: %s", error)
            await asyncio.sleep(GAP)
            try:
                async with asyncio.timeout(POLL):
                    await self.hinted.wait()
            except TimeoutError:
                pass

    async def _poll(self, quietly: bool = False) -> None:
        store, now = self._client.store, time.monotonic()
        if now >= self._thorough_at:
            self._thorough_at = now + THOROUGH
            after = self._floor = lowest_id(WINDOW)
            self._passed_on = {one for one in self._passed_on if one >= after}
        else:
            after = max(min(self._last, lowest_id(RECENT)), self._floor)
        while True:
            page = await self._client.runtime.hop(store.notifications.new, after, PAGE)
            for new in page:
                if quietly:
                    self._passed_on.add(new.id)
                else:
                    self._pass_on_once(new)
            if page:
                after = page[-1].id
                self._last = max(self._last, after)
            if len(page) < PAGE:
                return


def lowest_id(seconds: float) -> str:
    """The lowest id that can have been made so long ago: ids begin with the milliseconds of their making."""
    now = int(new_id().replace("-", "")[:12], 16)
    text = f"{now - int(seconds * 1000):012x}"
    return f"{text[:8]}-{text[8:]}-0000-0000-000000000000"
