"""Turns: a fair lock or semaphore (first come, first served) that no interrupt can lose.

Ctrl-C, and whatever else raises in a thread from outside (a signal's handler, a soft time limit), can come between any
two calls. Code that takes a lock and gives it back in a `finally` then loses it now and then: the exception comes after
the lock was taken and before the `try`, or within the `finally`. One thing is atomic: CPython enters and leaves
`with lock:` of a plain `threading.Lock` in one step. So a caller holds `turn.here` in that way from before it asks
until after it has given back; and a turn whose `here` is free was lost by its holder.

    turn = Turn()
    with turn.here:
        try:
            if not turns.take(turn, timeout): …
            …
        finally:
            turns.give_back(turn)
"""

from __future__ import annotations

import time
from collections import deque
from contextlib import suppress
from threading import Lock

import msgspec

LIVENESS_SECONDS = 0.25  # between checks whether the holders are still there


class Turn(msgspec.Struct, eq=False):
    """One caller that wants a turn, waits for it or has it. A struct: one is made for every write, at half the cost."""

    here: Lock = msgspec.field(default_factory=Lock)
    bell: Lock | None = None  # locked until it is the caller's turn; only for callers that have to wait

    @property
    def gone(self) -> bool:
        """Whether the caller has left, in whatever way."""
        return not self.here.locked()

    def wait_in_queue(self) -> Lock:
        """A bare lock, because an Event costs several times as much to wait for."""
        bell = self.bell = Lock()
        bell.acquire()
        return bell

    def ring(self) -> None:
        """Wake the waiting caller; twice does no harm."""
        if self.bell is not None:
            with suppress(RuntimeError):
                self.bell.release()


class Turns:
    """At most `room` callers at once have a turn; the others wait in a queue."""

    def __init__(self, room: int = 1) -> None:
        self._room = room
        self._guard = Lock()
        self._holders: list[Turn] = []
        self._queue: deque[Turn] = deque()

    def take(self, turn: Turn, timeout: float, *, first: bool = False) -> bool:
        """Wait for a turn; false if there was none in time. `first` goes to the front of the queue."""
        with self._guard:
            if len(self._holders) < self._room and not self._queue:
                self._holders.append(turn)
                return True
            self._fill()
            if len(self._holders) < self._room:
                self._holders.append(turn)
                return True
            bell = turn.wait_in_queue()
            if first:
                self._queue.appendleft(turn)
            else:
                self._queue.append(turn)
        return self._wait(turn, bell, timeout)

    def _wait(self, turn: Turn, bell: Lock, timeout: float) -> bool:
        end = time.monotonic() + timeout
        while True:
            left = end - time.monotonic()
            if left > 0 and bell.acquire(timeout=min(left, LIVENESS_SECONDS)):
                return True
            with self._guard:
                self._fill()
                if turn in self._holders:  # also if it was handed over just as the time ran out
                    return True
                if left <= 0:
                    self._queue.remove(turn)
                    return False

    def give_back(self, turn: Turn) -> None:
        """End a turn, or the waiting for one; without effect where there is neither."""
        with self._guard:
            if turn in self._holders:
                self._holders.remove(turn)
            elif turn in self._queue:
                self._queue.remove(turn)
            if self._queue:
                self._fill()

    def hand_over(self, turn: Turn, other: Turn) -> None:
        """Give the turn to another; without effect if there is none."""
        with self._guard:
            if turn in self._holders:
                self._holders[self._holders.index(turn)] = other

    def resize(self, room: int) -> None:
        """Change the number of turns; present holders stay."""
        with self._guard:
            self._room = room
            self._fill()

    def _fill(self) -> None:
        """Pass on free turns, and those that their holders have lost."""
        for holder in list(self._holders):
            if holder.gone:
                self._holders.remove(holder)
        while self._queue and len(self._holders) < self._room:
            turn = self._queue[0]
            if not turn.gone and turn not in self._holders:
                self._holders.append(turn)
            turn.ring()
            self._queue.popleft()  # last: an interrupt before it leaves a turn in both, which is seen above
