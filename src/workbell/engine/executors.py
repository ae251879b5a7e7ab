"""The hands of a worker: a run goes where its handler belongs, to the event loop, a thread or a process of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from workbell.engine.execute import Done
from workbell.engine.handler_processes.entry import Entry
from workbell.engine.handler_processes.slots import IsolatedSlots, Post
from workbell.engine.journal import Journal
from workbell.engine.slots import AsyncSlots, MakeContext, ThreadSlots
from workbell.engine.work import Work
from workbell.handlers.registry import Registry
from workbell.model.clock import Clock


class Executors:
    """Three kinds of slots as one."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        size: int,
        clock: Clock,
        registry: Registry,
        *,
        context: MakeContext,
        entry: Callable[[], Entry],
        post: Post,
        done: Done,
        board: Journal | None,
    ) -> None:
        self._loop = loop
        self._async = AsyncSlots(loop, size, clock, context, done, board)
        self._threads = ThreadSlots(size, clock, context, done, board)
        self._isolated = IsolatedSlots(size, clock, registry, entry, post, done, board)

    def put(self, works: Sequence[Work]) -> bool:
        """Whether there are some among them whose time somebody else must watch: on the loop each does so itself."""
        on_loop = [work for work in works if work.on_loop]
        if on_loop:
            self._async.put(on_loop)
        if len(on_loop) == len(works):
            return False
        plain = [work for work in works if not work.on_loop and not work.isolated]
        if plain:
            self._threads.put(plain)
        if len(on_loop) + len(plain) < len(works):
            self._isolated.put([work for work in works if work.isolated])
        return True

    def stop_work(self, work: Work) -> None:
        """Have a handler stopped, where one can be: a thread is only told, by its context."""
        if work.isolated:
            self._isolated.stop_work(work)
        elif work.on_loop:
            self._async.stop_work(work)

    def expire(self, work: Work) -> None:
        """Its time is over."""
        (self._isolated if work.isolated else self._threads).expire(work)

    def let_go(self, work: Work) -> None:
        """The worker stops: what has begun and has not ended is handed back."""
        if work.isolated or work.on_loop:
            self.stop_work(work)
        else:
            self._threads.abandon(work)

    def take_back(self, wanted: Callable[[Work], bool] = lambda _work: True) -> list[Work]:
        """What has not begun, of all kinds, where it is wanted."""
        taken = []
        for slots in (self._async, self._threads, self._isolated):
            waiting = slots.take_back()
            left = [work for work in waiting if not wanted(work)]
            if left:
                slots.put(left)
            taken += [work for work in waiting if wanted(work)]
        return taken

    def close(self) -> None:
        self._threads.close()
        self._isolated.close()
        self._loop.call_soon_threadsafe(self._async.close)
