"""Long polls: all waiting agents share one poll of the store.

On a hint of the store, and otherwise every second, one query says which of their targets have queued runs; only agents
that wait for one of those are woken, and claim. Everything here happens on the event loop of the server.
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

PACE = 1.0  # seconds between two polls without a hint
GAP = 0.05  # and between any two

Listen = Callable[[Callable[[], None]], Callable[[], None]]
Hop = Callable[[Callable[[], set[tuple[str, str]]]], Awaitable[set[tuple[str, str]]]]


class LongPolls:
    """Waiting agents, and the targets of each."""

    def __init__(self, store: Store, hop: Hop, listen: Listen, stopping: asyncio.Event) -> None:
        self._store = store
        self._hop = hop
        self._listen = listen
        self._stopping = stopping
        self._waiting: dict[asyncio.Future[None], frozenset[tuple[str, str]]] = {}
        self._hint = asyncio.Event()
        self._polling: asyncio.Task[None] | None = None
        self.polls = 0

    async def wait(self, tenant: str, targets: Iterable[str], timeout: float, quiet: float = 0.0) -> bool:
        """Wait until a run is queued for one of these targets; False on timeout, or when the server stops.

        `quiet` delays an agent that was just woken for runs that it cannot take.
        """
        if quiet and await self._stops_within(min(quiet, timeout)):
            return False
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[future] = frozenset((tenant, target) for target in targets)
        self._hint.set()  # what was queued since the last poll had its hint before we listened
        if self._polling is None or self._polling.done():
            self._polling = asyncio.create_task(self._poll_store())
        stopping = asyncio.ensure_future(self._stopping.wait())
        both: list[asyncio.Future[Any]] = [future, stopping]
        try:
            await asyncio.wait(both, timeout=max(timeout - quiet, 0), return_when=asyncio.FIRST_COMPLETED)
            return future.done()
        finally:
            stopping.cancel()
            self._waiting.pop(future, None)
            if not self._waiting:
                self._hint.set()  # nobody is left: the poll loop can end

    async def _stops_within(self, seconds: float) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        return self._stopping.is_set()

    async def _poll_store(self) -> None:
        unsubscribe = self._listen(self._hint.set)
        try:
            while self._waiting and not self._stopping.is_set():
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(PACE):
                        await self._hint.wait()
                self._hint.clear()
                if not self._waiting:
                    return
                await self._poll_once()
                if await self._stops_within(GAP):
                    return
        finally:
            unsubscribe()

    async def _poll_once(self) -> None:
        self.polls += 1
        try:
            targets = frozenset[tuple[str, str]]().union(*self._waiting.values())
            queued = await self._hop(lambda: self._store.reports.waiting_targets(targets))
        except StoreError as error:
            log.warning("what is queued for agents could not be read: %s", error)
            return
        for future, wanted in list(self._waiting.items()):
            if not future.done() and not wanted.isdisjoint(queued):
                future.set_result(None)
                self._waiting.pop(future, None)
