"""Executors of a worker: a run goes where its handler belongs, to the event loop, a thread or a process of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from workbell.engine.duty import Waker
from workbell.engine.execute import Done
from workbell.engine.handler_processes.entry import Entry
from workbell.engine.handler_processes.slots import IsolatedSlots, Post
from workbell.engine.journal import Journal
from workbell.engine.loop_watch import LoopWatch
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
        journal: Journal | None,
        loop_watch: LoopWatch,
        timeouts: Waker,
    ) -> None:
        self._loop = loop
        self._loop_watch = loop_watch
        self._timeouts = timeouts
        self._async = AsyncSlots(loop, size, clock, context, done, journal)
        self._threads = ThreadSlots(size, clock, context, done, journal)
        self._isolated = IsolatedSlots(size, clock, registry, entry, post, done, journal)

    def put(self, works: Sequence[Work]) -> None:
        """Put works into the slots of their kind. Timeouts on the loop are the loop's, others a duty's."""
        self._loop_watch.note_delivered()
        on_loop = [work for work in works if work.on_loop]
        if on_loop:
            self._async.put(on_loop)
        if len(on_loop) == len(works):
            return
        plain = [work for work in works if not work.on_loop and not work.isolated]
        if plain:
            self._threads.put(plain)
        if len(on_loop) + len(plain) < len(works):
            self._isolated.put([work for work in works if work.isolated])
        self._timeouts.wake()

    def stop_work(self, work: Work) -> None:
        """Stop the handler of a work; a thread cannot be stopped, its handler can only read `ctx.canceled`."""
        if work.isolated:
            self._isolated.stop_work(work)
        elif work.on_loop:
            self._async.stop_work(work)

    def expire(self, work: Work) -> None:
        """Timeout of a work."""
        (self._isolated if work.isolated else self._threads).expire(work)

    def let_go(self, work: Work) -> None:
        """The worker stops: what has begun and has not ended is handed back."""
        if work.isolated or work.on_loop:
            self.stop_work(work)
        else:
            self._threads.abandon(work)

    def take_back(self, wanted: Callable[[Work], bool] = lambda _work: True) -> list[Work]:
        """Take works that have not begun out of the slots of all kinds, where wanted."""
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
