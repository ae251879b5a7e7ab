"""Group commit: callers that arrive while a commit is under way share the next one.

There is no writer thread. The first caller writes at once, in its own thread, so that a lone caller pays nothing;
whoever comes meanwhile waits, and one of the waiting writes for all of them. (Measured: 32 threads through this
enqueue several times as fast as one by one, and one thread alone is not slowed by a hop to another.)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from threading import Event, Lock
from typing import Generic, TypeVar

from workbell.errors import StoreUnavailable

Item = TypeVar("Item")
Answer = TypeVar("Answer")

MOST = 2000


class _Entry(Generic[Item, Answer]):
    __slots__ = ("answers", "error", "items", "turn")

    def __init__(self, items: Sequence[Item]) -> None:
        self.items = items
        self.turn = Event()
        self.answers: list[Answer] | None = None
        self.error: BaseException | None = None

    @property
    def done(self) -> bool:
        return self.answers is not None or self.error is not None


class GroupCommit(Generic[Item, Answer]):
    """Turns many small writes into few larger ones. `write` answers item by item, in order."""

    def __init__(self, write: Callable[[Sequence[Item]], list[Answer]]) -> None:
        self._write = write
        self._lock = Lock()
        self._waiting: deque[_Entry[Item, Answer]] = deque()
        self._busy = False

    def submit(self, items: Sequence[Item]) -> list[Answer]:
        entry: _Entry[Item, Answer] = _Entry(items)
        with self._lock:
            self._waiting.append(entry)
            leads = not self._busy
            self._busy = True
        if not leads:
            entry.turn.wait()  # until it is done, or until it is this caller's turn to write
        if not entry.done:
            self._lead()
        if entry.error is not None:
            raise entry.error
        assert entry.answers is not None
        return entry.answers

    def _lead(self) -> None:
        with self._lock:
            batch = [self._waiting.popleft()]
            size = len(batch[0].items)
            while self._waiting and size + len(self._waiting[0].items) <= MOST:
                batch.append(self._waiting.popleft())
                size += len(batch[-1].items)
        try:
            self._write_all(batch)
        finally:
            with self._lock:
                if self._waiting:
                    self._waiting[0].turn.set()
                else:
                    self._busy = False
            for entry in batch:
                entry.turn.set()

    def _write_all(self, batch: list[_Entry[Item, Answer]]) -> None:
        try:
            answers = iter(self._write([item for entry in batch for item in entry.items]))
            for entry in batch:
                entry.answers = [next(answers) for _ in entry.items]
        except StoreUnavailable as error:
            for entry in batch:
                entry.error = error
        except BaseException as error:
            if len(batch) == 1:
                batch[0].error = error
                return
            for entry in batch:  # one caller's mistake must not spoil the others' writes
                self._write_all([entry])
