"""Group commit: callers that arrive while a commit is under way share the next one.

There is no writer thread. The first caller writes at once, in its own thread, so that a lone caller pays nothing;
callers that come meanwhile wait, and one of them writes for all. (Measured: 32 threads through this
enqueue several times as fast as one by one, and one thread alone is not slowed by a hop to another.)

A leader can be interrupted (Ctrl-C) at any moment, also between the commit and the answers. The interrupt is its own:
it leaves with it. What it wrote for others stays queued, marked as tried; the next leader first finds out whether it
was written, and then answers it or writes it. How callers that left are detected: see turns.py.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Generic, TypeVar

import msgspec

from workbell.errors import StoreError, StoreUnavailable, WorkbellError
from workbell.process.fork_safety import remake_after_fork
from workbell.stores.pending_entry import PENDING
from workbell.stores.turns import LIVENESS_SECONDS, Turn

Item = TypeVar("Item")
Answer = TypeVar("Answer")

MOST = 2000
GATHER_SECONDS = 0.0002  # wait for callers that shared the last commit


class _Entry(Turn, Generic[Item, Answer], eq=False, kw_only=True):
    """The items of one caller, and their answers or error."""

    items: Sequence[Item]
    tried: bool = False  # a write of it has begun
    done: bool = False
    answers: list[Answer] = msgspec.field(default_factory=list)
    error: Exception | None = None

    def fail(self, error: Exception) -> None:
        self.error = error
        self.done = True


class GroupCommit(Generic[Item, Answer]):
    """Turns many small writes into few larger ones.

    `write` answers item by item, in order, and is all or nothing. `written` is asked about the items of one caller
    whose write was interrupted: their answers, or None if they were not written.
    """

    def __init__(
        self,
        write: Callable[[Sequence[Item]], list[Answer]],
        written: Callable[[Sequence[Item]], list[Answer] | None] | None = None,
    ) -> None:
        self._write = write
        self._written = written or _unknown
        self.make_process_state()
        remake_after_fork(self)

    def make_process_state(self) -> None:
        self._lock = Lock()
        self._queue: deque[_Entry[Item, Answer]] = deque()  # also those that are being written, until they are done
        self._leader: _Entry[Item, Answer] | None = None  # the entry whose caller is to write
        self._last = 1  # how many shared the last commit

    def submit(self, items: Sequence[Item]) -> list[Answer]:
        """Write the items of one caller, all or nothing; those of an audited request are not written with others."""
        if PENDING.get() is not None:
            return self._write(items)
        entry: _Entry[Item, Answer] = _Entry(items=items)
        try:
            with entry.here:
                with self._lock:
                    self._queue.append(entry)
                    if self._leader is None or self._leader.gone:
                        self._leader = entry
                    else:
                        entry.wait_in_queue()
                while not entry.done:
                    if self._leader is entry:
                        self._lead()
                    else:
                        self._wait(entry.bell or entry.wait_in_queue())
        except BaseException:  # interrupted: what is not being written yet is withdrawn, and the turn goes on
            with self._lock:
                if self._leader is entry:
                    self._pass_on()
            raise
        if entry.error is not None:
            raise entry.error
        return entry.answers

    def _wait(self, bell: Lock) -> None:
        """Until this caller's entry is done, or until it is its turn to write."""
        if bell.acquire(timeout=LIVENESS_SECONDS):
            return
        with self._lock:
            if self._leader is None or self._leader.gone:
                self._pass_on()

    def _pass_on(self) -> None:
        """Wake the callers that are done, and let the next one lead."""
        queue = self._queue
        while queue and (queue[0].done or queue[0].gone):
            if queue[0].bell is not None:
                queue[0].ring()
            queue.popleft()  # last: an interrupt before it leaves the entry to be rung for again
        self._leader = queue[0] if queue else None
        if self._leader is not None:
            self._leader.ring()

    def _lead(self) -> None:
        # Callers that shared the last commit are only waking up, and will soon submit again: a short wait for them
        # saves a commit for just the few that are queued already.
        if len(self._queue) * 2 < self._last:
            time.sleep(GATHER_SECONDS)
        with self._lock:
            batch = self._next_batch() if len(self._queue) > 1 else list(self._queue)
            self._last = len(batch)
        try:
            tried = [entry for entry in batch if entry.tried]
            if tried:
                self._settle(tried)
                batch = [entry for entry in batch if not entry.done]
            if batch:
                self._write_all(batch)
        finally:
            with self._lock:
                self._pass_on()

    def _next_batch(self) -> list[_Entry[Item, Answer]]:
        batch: list[_Entry[Item, Answer]] = []
        size = 0
        for entry in self._queue:
            if entry.done or entry.gone:
                continue
            size += len(entry.items)
            if batch and size > MOST:
                break
            batch.append(entry)
        return batch

    def _write_all(self, batch: list[_Entry[Item, Answer]]) -> None:
        for entry in batch:
            entry.tried = True
        try:
            answers = iter(self._write([item for entry in batch for item in entry.items]))
            for entry in batch:
                entry.answers = [next(answers) for _ in entry.items]
                entry.done = True
        except StoreUnavailable as error:
            for entry in batch:
                entry.fail(error)
        except WorkbellError as error:
            if len(batch) == 1:
                batch[0].fail(error)
                return
            for entry in batch:  # one caller's mistake must not spoil the others' writes
                self._write_all([entry])
        except Exception as error:
            if len(batch) == 1:
                batch[0].fail(error)
                return
            self._settle([entry for entry in batch if not entry.done])
            if all(entry.error is None for entry in batch):
                raise  # no caller's mistake: it was raised in this thread from outside

    def _settle(self, tried: list[_Entry[Item, Answer]]) -> None:
        """Answer entries whose write did not come to a clear end, one by one."""
        for entry in tried:
            try:
                entry.answers = self._written_or_write(entry.items)
                entry.done = True
            except Exception as error:  # noqa: BLE001  handed to the caller it belongs to
                entry.fail(error)

    def _written_or_write(self, items: Sequence[Item]) -> list[Answer]:
        answers = self._written(items)
        if answers is not None:
            return answers
        try:
            return self._write(items)
        except StoreUnavailable:
            raise
        except StoreError:
            answers = self._written(items)  # the interrupted write was still under way, and is in the way of this one
            if answers is None:
                raise
            return answers


def _unknown(_: object) -> None:
    raise StoreUnavailable(
        "The write was interrupted, and may or may not have been made; check whether it was, then repeat the call."
    )
