"""How long to wait before the line is tried again: a second, doubled each time, up to half a minute, never in step."""

from __future__ import annotations

from random import Random

FIRST = 1.0
LONGEST = 30.0
JITTER = 0.2


class Backoff:
    def __init__(self, randomness: Random, first: float = FIRST) -> None:
        self._random = randomness
        self._first = first
        self._next = first

    def wait(self) -> float:
        """Seconds until the next try."""
        seconds, self._next = self._next, min(self._next * 2, LONGEST)
        return seconds * (1 + JITTER * self._random.random())

    def reset(self) -> None:
        """The line is good."""
        self._next = self._first
