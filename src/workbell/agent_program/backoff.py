"""How long to wait before the line is tried again: a second, doubled each time, up to half a minute, never in step."""

from __future__ import annotations

import logging
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


class Outage:
    """One kind of post that does not get through: how long to wait, and a line of the log when something changes."""

    def __init__(self, log: logging.Logger, what: str, backoff: Backoff) -> None:
        self._log = log
        self._what = what
        self._backoff = backoff
        self._words: str | None = None

    def failed(self, error: Exception) -> float:
        """It failed; seconds until the next try. The same words again are not logged."""
        if str(error) != self._words:
            self._words = str(error)
            self._log.warning("%s: %s It is tried again until the server answers.", self._what, error)
        return self._backoff.wait()

    def over(self) -> None:
        """It got through."""
        self._backoff.reset()
        if self._words is not None:
            self._words = None
            self._log.info("%s until now; the server answers again", self._what)
