"""Backoff between requests to a server that cannot be reached: 1 s, doubled up to 30 s, with jitter."""

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
        """The server answered."""
        self._next = self._first


class Outage:
    """Outage of one kind of request: how long to wait, and a log line when something changes."""

    def __init__(self, log: logging.Logger, what: str, backoff: Backoff) -> None:
        self._log = log
        self._what = what
        self._backoff = backoff
        self._logged: str | None = None

    def failed(self, error: Exception) -> float:
        """Note a failure; seconds until the next try. A repeated message is not logged."""
        if str(error) != self._logged:
            self._logged = str(error)
            self._log.warning("%s: %s It is tried again until the server answers.", self._what, error)
        return self._backoff.wait()

    def over(self) -> None:
        """Note a success."""
        self._backoff.reset()
        if self._logged is not None:
            self._logged = None
            self._log.info("%s until now; the server answers again", self._what)
