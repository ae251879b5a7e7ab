"""Rate limit for one log message: at most once a minute, with how often it was due. The clock is an argument."""

from __future__ import annotations

import logging

PAUSE = 60.0  # seconds between two lines


class RateLimitedMessage:
    """One rate-limited message. The first time it is logged at once; within the next minute it is only counted."""

    def __init__(self, log: logging.Logger, level: int, message: str) -> None:
        self._log = log
        self._level = level
        self._message = message
        self._again_at: float | None = None
        self._count = 0

    def log(self, now: float) -> None:
        """Log the message, or count that it was due."""
        self._count += 1
        if self._again_at is not None and now < self._again_at:
            return
        self._log.log(self._level, "%s (%s)", self._message, _times(self._count))
        self._again_at, self._count = now + PAUSE, 0


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times since this was last logged"
