"""Group commit: callers that arrive while a commit is under way share the next one.

There is no writer thread. The first caller writes at once, in its own thread, so that a lone caller pays nothing;
whoever comes meanwhile waits, and one of the waiting writes for all of them. (Measured: 32 threads through this
enqueue several times as fast as one by one, and one thread alone is not slowed by a hop to another.)
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Generic, TypeVar

from workbell.afresh import in_every_child
from workbell.errors import StoreUnavailable

Item = TypeVar("Item")
Answer = TypeVar("Answer")

MOST = 2000
MOMENT = 0.0002


class _Entry(Generic[Item, Answer]):
    __slots__ = ("answers", "called", "error", "items", "turn")

    def __init__(self, items: Sequence[Item]) -> None:
        self.items = items
        self.turn: Lock | None = None  # held until it is called; only for those that have to wait
        self.called = False
        self.answers: list[Answer] | None = None
        self.error: BaseException | None = None

    @property
    def done(self) -> bool:
        return self.answers is not None or self.error is not None

    def call(self) -> None:
        """A bare lock, because an Event costs several times as much to wait for."""
        if self.turn is not None and not self.called:
            self.called = True
            self.turn.release()


class GroupCommit(Generic[Item, Answer]):
    """Turns many small writes into few larger ones. `write` answers item by item, in order."""

    def __init__(self, write: Callable[[Sequence[Item]], list[Answer]]) -> None:
        self._write = write
        self.start_afresh()
        in_every_child(self)

    def start_afresh(self) -> None:
        self._lock = Lock()
        self._waiting: deque[_Entry[Item, Answer]] = deque()
        self._busy = False
        self._last = 1  # how many shared the last commit

    def submit(self, items: Sequence[Item]) -> list[Answer]:
        entry: _Entry[Item, Answer] = _Entry(items)
        with self._lock:
            self._waiting.append(entry)
            if self._busy:
                entry.turn = Lock()
                entry.turn.acquire()
            self._busy = True
        if entry.turn is not None:
            self._wait(entry, entry.turn)
        if not entry.done:
            self._lead()
        if entry.error is not None:
            raise entry.error
        assert entry.answers is not None
        return entry.answers

    def _wait(self, entry: _Entry[Item, Answer], turn: Lock) -> None:
        """Until the entry is done, or until it is this caller's turn to write."""
        try:
            turn.acquire()
        except BaseException:  # interrupted: what is not being written yet is withdrawn, and the turn goes on
            with self._lock:
                if entry in self._waiting:
                    self._waiting.remove(entry)
                    if entry.called:
                        self._hand_on()
            raise

    def _hand_on(self) -> None:
        if self._waiting:
            self._waiting[0].call()
        else:
            self._busy = False

    def _lead(self) -> None:
        # Those who shared the last commit are only now being told, and will be back in a moment: a short wait for
        # them saves a commit for just the few who are here already.
        if len(self._waiting) * 2 < self._last:
            time.sleep(MOMENT)
        with self._lock:
            batch = [self._waiting.popleft()]
            size = len(batch[0].items)
            while self._waiting and size + len(self._waiting[0].items) <= MOST:
                batch.append(self._waiting.popleft())
                size += len(batch[-1].items)
            self._last = len(batch)
        try:
            self._write_all(batch)
        finally:
            with self._lock:
                for entry in batch:
                    entry.call()
                self._hand_on()

    def _write_all(self, batch: list[_Entry[Item, Answer]]) -> None:
        try:
            answers = iter(self._write([item for entry in batch for item in entry.items]))
            for entry in batch:
                entry.answers = [next(answers) for _ in entry.items]
        except StoreUnavailable as error:
            for entry in batch:
                entry.error = error
        except BaseException as error:  # noqa: BLE001  handed to the caller it belongs to
            if len(batch) == 1:
                batch[0].error = error
                return
            for entry in batch:  # one caller's mistake must not spoil the others' writes
                self._write_all([entry])
