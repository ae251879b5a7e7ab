"""Long polls: many agents wait with one shared look at what is queued for whom.

On a hint of the store, and otherwise every second, one question tells for which targets something is queued; only those
who wait for one of them are woken, and poll. Everything here happens on the event loop of the server.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from workbell.errors import StoreError
from workbell.stores.port import Store

log = logging.getLogger("workbell.agents")

PACE = 1.0  # seconds between two looks without a hint
GAP = 0.05  # and between any two

Listen = Callable[[Callable[[], None]], Callable[[], None]]
Hop = Callable[[Callable[[], set[tuple[str, str]]]], Awaitable[set[tuple[str, str]]]]


class LongPolls:
    """Those who wait, and what each waits for."""

    def __init__(self, store: Store, hop: Hop, listen: Listen, stopping: asyncio.Event) -> None:
        self._store = store
        self._hop = hop
        self._listen = listen
        self._stopping = stopping
        self._waiting: dict[asyncio.Future[None], frozenset[tuple[str, str]]] = {}
        self._hint = asyncio.Event()
        self._looking: asyncio.Task[None] | None = None
        self.looks = 0

    async def wait(self, tenant: str, targets: Iterable[str], timeout: float, quiet: float = 0.0) -> bool:
        """Until something is queued for one of these targets, the time is over, or the server stops; whether the first.

        `quiet` is for who was woken for nothing just now, because what is queued is not for it to take.
        """
        if quiet and await self._stops_within(min(quiet, timeout)):
            return False
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[future] = frozenset((tenant, target) for target in targets)
        self._hint.set()  # what was queued since the last poll had its hint before we listened
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        stopping = asyncio.ensure_future(self._stopping.wait())
        both: list[asyncio.Future[Any]] = [future, stopping]
        try:
            await asyncio.wait(both, timeout=max(timeout - quiet, 0), return_when=asyncio.FIRST_COMPLETED)
            return future.done()
        finally:
            stopping.cancel()
            self._waiting.pop(future, None)
            if not self._waiting:
                self._hint.set()  # nobody is left: the look can end

    async def _stops_within(self, seconds: float) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        return self._stopping.is_set()

    async def _look(self) -> None:
        deaf = self._listen(self._hint.set)
        try:
            while self._waiting and not self._stopping.is_set():
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(PACE):
                        await self._hint.wait()
                self._hint.clear()
                if not self._waiting:
                    return
                await self._look_once()
                if await self._stops_within(GAP):
                    return
        finally:
            deaf()

    async def _look_once(self) -> None:
        self.looks += 1
        try:
            queued = await self._hop(self._store.reports.waiting_targets)
        except StoreError as error:
            log.warning("what is queued for agents could not be read: %s", error)
            return
        for future, wanted in list(self._waiting.items()):
            if not future.done() and not wanted.isdisjoint(queued):
                future.set_result(None)
                self._waiting.pop(future, None)
