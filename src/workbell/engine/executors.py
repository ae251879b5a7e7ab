"""Executors of a worker: a run goes where its handler belongs, to the event loop, a thread or a process of its own.

A slot for async handlers is a task that awaits one handler after another. A task for each run would cost a third of the
throughput of short handlers; but a slot whose handler changed context variables, or was cancelled, is replaced, so that
nothing leaks from one run into the next.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections import deque
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue

from workbell.engine.duty import Waker
from workbell.engine.execute import INTERNAL, Done, Starts, book_safely, call_async, call_plain, timed_out
from workbell.engine.handler_processes.entry import Entry
from workbell.engine.handler_processes.slots import IsolatedSlots, Post
from workbell.engine.journal import Journal
from workbell.engine.loop_watch import LoopWatch
from workbell.engine.work import Work
from workbell.handlers.context import Context
from workbell.handlers.registry import Registry
from workbell.model.clock import Clock
from workbell.model.outcome import HANDED_BACK, Raised

RUNS_PER_YIELD = 50  # runs after which a slot yields to the event loop

MakeContext = Callable[[Work], Context | None]


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
        if self._loop_watch.resting:
            self._loop_watch.waker.wake()
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


class AsyncSlots:
    """Executes async handlers on an event loop, at most `size` at once."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        size: int,
        clock: Clock,
        context: MakeContext,
        done: Done,
        journal: Journal | None = None,
    ) -> None:
        self._loop = loop
        self._size = size
        self._clock = clock
        self._starts = Starts(clock)
        self._context = context
        self._done = done
        self._journal = journal
        self._waiting: deque[Work] = deque()
        self._idle: deque[asyncio.Future[None]] = deque()
        self._slots: set[asyncio.Task[None]] = set()
        self._base = contextvars.copy_context()

    def put(self, works: Sequence[Work]) -> None:
        """From any thread."""
        self._waiting.extend(works)
        self._loop.call_soon_threadsafe(self._stir)

    def _stir(self) -> None:
        """Wake or start one slot; it wakes the next one while works are waiting."""
        if not self._waiting:
            return
        while self._idle:
            idle = self._idle.popleft()
            if not idle.done():
                idle.set_result(None)
                return
        if len(self._slots) < self._size:
            task = self._loop.create_task(self._slot(), context=self._base.copy())
            self._slots.add(task)
            task.add_done_callback(self._gone)

    def _gone(self, task: asyncio.Task[None]) -> None:
        self._slots.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._loop.call_exception_handler({"message": "a slot ended", "exception": task.exception()})
        self._stir()

    async def _slot(self) -> None:
        task = asyncio.current_task()
        before = contextvars.copy_context()
        since_yield = 0
        while True:
            if not self._waiting:
                idle = self._loop.create_future()
                self._idle.append(idle)
                await idle
                continue
            work = self._waiting.popleft()
            if self._waiting:
                self._stir()
            if work.settled:
                continue
            refused = self._starts.refused(work)
            if refused is not None:
                book_safely(self._done, work, refused)
                continue
            work.task = task
            work.begin(self._clock)
            if self._journal is not None:
                self._journal.begin(work)
            try:
                outcome = await call_async(work, self._context(work))
            except Exception as error:  # noqa: BLE001  before or after the handler: the run must be booked
                outcome = Raised(error, INTERNAL)
            if self._journal is not None:
                self._journal.end(work)
            work.task = None
            book_safely(self._done, work, outcome)
            if contextvars.copy_context() != before or (task is not None and task.cancelling()):
                return  # replaced by a fresh one, see _gone
            since_yield += 1
            if since_yield >= RUNS_PER_YIELD:
                since_yield = 0
                await asyncio.sleep(0)

    def stop_work(self, work: Work) -> None:
        """Cancel the handler of a work, from any thread; the reason is in the work."""
        task = work.task
        if task is not None:
            self._loop.call_soon_threadsafe(lambda: task.cancel() if work.task is task else None)

    def take_back(self) -> list[Work]:
        """Take out the works that have not begun."""
        taken: list[Work] = []
        with contextlib.suppress(IndexError):  # the last one may be taken by a slot at this moment
            while True:
                taken.append(self._waiting.popleft())
        return taken

    def close(self) -> None:
        """On the loop: end the idle slots."""
        for task in list(self._slots):
            task.cancel()


class ThreadSlots:
    """Executes plain handlers in threads, at most `size` at once.

    A thread cannot be stopped. When its time is over, the run is booked as timed out and the thread is left to
    itself; another one replaces it, and what it returns later is dropped.
    """

    def __init__(
        self, size: int, clock: Clock, context: MakeContext, done: Done, journal: Journal | None = None
    ) -> None:
        self._size = size
        self._clock = clock
        self._starts = Starts(clock)
        self._context = context
        self._done = done
        self._journal = journal
        self._queue: SimpleQueue[Work | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._busy = 0

    def put(self, works: Sequence[Work]) -> None:
        for work in works:
            self._queue.put(work)
        with self._lock:
            missing = min(self._size, self._busy + self._queue.qsize()) - self._threads
            for _ in range(missing):
                self._start()

    def _start(self) -> None:
        self._threads += 1
        threading.Thread(target=self._run, name="workbell-handler", daemon=True).start()

    def _run(self) -> None:
        while True:
            work = self._queue.get()
            if work is None:
                return
            if work.settled:
                continue
            refused = self._starts.refused(work)
            if refused is not None:
                book_safely(self._done, work, refused)
                continue
            with self._lock:
                self._busy += 1
                work.begin(self._clock)
                if self._journal is not None:
                    self._journal.begin(work)
            try:
                outcome = contextvars.Context().run(call_plain, work, self._context(work))
            except BaseException as error:  # noqa: BLE001  before or after the handler: the run must be booked
                outcome = Raised(error, INTERNAL)
            with self._lock:
                if work.timed_out:  # another thread stands in for this one
                    return
                work.returned = True
                self._busy -= 1
                if self._journal is not None:
                    self._journal.end(work)
            book_safely(self._done, work, outcome)

    def expire(self, work: Work) -> None:
        """Timeout of a work: book it, and replace its thread."""
        with self._lock:
            if work.settled or work.returned or work.timed_out or work.started_at is None:
                return
            work.timed_out = True
            if self._journal is not None:
                self._journal.end(work)
            self._busy -= 1
            self._threads -= 1
            self._start()
        book_safely(self._done, work, timed_out(work))

    def abandon(self, work: Work) -> None:
        """Hand a begun work back; its thread is left to itself."""
        with self._lock:
            if not work.settled:
                book_safely(self._done, work, HANDED_BACK)

    def take_back(self) -> list[Work]:
        taken: list[Work] = []
        with contextlib.suppress(Empty):  # the last one may be taken by a thread at this moment
            while True:
                work = self._queue.get_nowait()
                if work is not None:
                    taken.append(work)
        return taken

    def close(self) -> None:
        for _ in range(self._threads):
            self._queue.put(None)
