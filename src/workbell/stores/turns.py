"""Turns: a lock, or a few places, handed on in the order of asking, that no interrupt can lose.

Ctrl-C, and whatever else raises in a thread from outside (a signal's handler, a soft time limit), can come between any
two calls. Code that takes a lock and gives it back in a `finally` then loses it now and then: the exception comes after
the lock was taken and before the `try`, or within the `finally`. One thing cannot be torn: CPython enters and leaves
`with lock:` of a plain `threading.Lock` in one step. So who asks for a turn holds `turn.here` in that way from before
it asks until after it has given back; and a turn whose `here` is free is one that its holder has lost.

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

PATIENCE = 0.25  # seconds between looks at whether those who are waited for are still there


class Turn:
    """One caller that wants a turn, waits for it or has it."""

    __slots__ = ("bell", "here")

    def __init__(self) -> None:
        self.here = Lock()
        self.bell: Lock | None = None  # held until it is the caller's turn; only for those that have to wait

    @property
    def gone(self) -> bool:
        """Whether the caller has left, in whatever way."""
        return not self.here.locked()

    def wait_in_line(self) -> Lock:
        """A bare lock, because an Event costs several times as much to wait for."""
        bell = self.bell = Lock()
        bell.acquire()
        return bell

    def ring(self) -> None:
        """End the waiting. Twice is as good as once."""
        if self.bell is not None:
            with suppress(RuntimeError):
                self.bell.release()


class Turns:
    """At most `room` callers at once have a turn; the others wait in line."""

    def __init__(self, room: int = 1) -> None:
        self._room = room
        self._guard = Lock()
        self._holders: list[Turn] = []
        self._line: deque[Turn] = deque()

    def take(self, turn: Turn, timeout: float, *, first: bool = False) -> bool:
        """Wait for a turn; false if there was none in time. `first` goes to the front of the line."""
        with self._guard:
            if len(self._holders) < self._room and not self._line:
                self._holders.append(turn)
                return True
            self._fill()
            if len(self._holders) < self._room:
                self._holders.append(turn)
                return True
            bell = turn.wait_in_line()
            if first:
                self._line.appendleft(turn)
            else:
                self._line.append(turn)
        return self._wait(turn, bell, timeout)

    def _wait(self, turn: Turn, bell: Lock, timeout: float) -> bool:
        end = time.monotonic() + timeout
        while True:
            left = end - time.monotonic()
            if left > 0 and bell.acquire(timeout=min(left, PATIENCE)):
                return True
            with self._guard:
                self._fill()
                if turn in self._holders:  # also if it was handed over just as the time ran out
                    return True
                if left <= 0:
                    self._line.remove(turn)
                    return False

    def give_back(self, turn: Turn) -> None:
        """End a turn, or the waiting for one; without effect where there is neither."""
        with self._guard:
            if turn in self._holders:
                self._holders.remove(turn)
            elif turn in self._line:
                self._line.remove(turn)
            if self._line:
                self._fill()

    def hand_over(self, turn: Turn, other: Turn) -> None:
        """Let another have what this one has; without effect if it has nothing."""
        with self._guard:
            if turn in self._holders:
                self._holders[self._holders.index(turn)] = other

    def resize(self, room: int) -> None:
        """So many at once from now on; who has a turn keeps it."""
        with self._guard:
            self._room = room
            self._fill()

    def _fill(self) -> None:
        """Hand on what is free, and what was lost by those who have it."""
        for holder in list(self._holders):
            if holder.gone:
                self._holders.remove(holder)
        while self._line and len(self._holders) < self._room:
            turn = self._line[0]
            if not turn.gone and turn not in self._holders:
                self._holders.append(turn)
            turn.ring()
            self._line.popleft()  # last: an interrupt before it leaves a turn in both, which is seen above
