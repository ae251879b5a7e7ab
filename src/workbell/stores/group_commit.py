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

from workbell.afresh import in_every_child
from workbell.errors import StoreUnavailable

Item = TypeVar("Item")
Answer = TypeVar("Answer")

MOST = 2000


class _Entry(Generic[Item, Answer]):
    __slots__ = ("answers", "error", "items", "turn")

    def __init__(self, items: Sequence[Item]) -> None:
        self.items = items
        self.turn: Event | None = None  # only for those that have to wait
        self.answers: list[Answer] | None = None
        self.error: BaseException | None = None

    @property
    def done(self) -> bool:
        return self.answers is not None or self.error is not None


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

    def submit(self, items: Sequence[Item]) -> list[Answer]:
        entry: _Entry[Item, Answer] = _Entry(items)
        with self._lock:
            self._waiting.append(entry)
            if self._busy:
                entry.turn = Event()
            self._busy = True
        if entry.turn is not None:
            self._wait(entry, entry.turn)
        if not entry.done:
            self._lead()
        if entry.error is not None:
            raise entry.error
        assert entry.answers is not None
        return entry.answers

    def _wait(self, entry: _Entry[Item, Answer], turn: Event) -> None:
        """Until the entry is done, or until it is this caller's turn to write."""
        try:
            turn.wait()
        except BaseException:  # interrupted: what is not being written yet is withdrawn, and the turn goes on
            with self._lock:
                if entry in self._waiting:
                    leads = turn.is_set()
                    self._waiting.remove(entry)
                    if leads:
                        self._hand_on()
            raise

    def _hand_on(self) -> None:
        if self._waiting:
            successor = self._waiting[0].turn
            assert successor is not None  # whoever is left in the line has been waiting
            successor.set()
        else:
            self._busy = False

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
                self._hand_on()
            for entry in batch:
                if entry.turn is not None:
                    entry.turn.set()

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
