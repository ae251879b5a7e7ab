"""Retry decisions for requests. Pure: no clock and no network.

Sending again is safe: whatever makes something carries an idempotency key or an id, and the rest can be done twice.
"""

from __future__ import annotations

from random import Random

from workbell.errors import ServiceUnavailable
from workbell.remote.call import Reply

MOST = 3
FIRST_PAUSE, FACTOR = 0.2, 2.0
LONGEST_RETRY_AFTER = 10.0
GATEWAYS = (502, 503, 504)
TOO_MANY = 429
CONFLICT, KEY_REUSED = 409, b"urn:workbell:error:KeyReused"


class Tries:
    """The tries of one call."""

    def __init__(self, shown: str, randomness: Random) -> None:
        self._shown = shown
        self._randomness = randomness
        self.made = 0
        self.lost = False  # an answer was lost: what was asked for may have been done

    def after_trouble(self, what: str) -> float:
        """How long to wait after a try without an answer; raises when there were enough."""
        self.lost = True
        pause = self._pause()
        if pause is None:
            raise ServiceUnavailable(
                f"{self._shown}: {what}, {MOST} times in a row; is the service running there, and can it be "
                "reached from here?"
            )
        return pause

    def after_reply(self, reply: Reply) -> float | None:
        """How long to wait before the next try; none, if this answer is the one."""
        if reply.status in GATEWAYS:
            self.lost = True
            return self._pause(reply.retry_after)
        if reply.status == TOO_MANY and reply.retry_after is not None:
            return self._pause(reply.retry_after)
        if reply.status == CONFLICT and self.lost and KEY_REUSED in reply.content:
            return self._pause()  # our own first try is still being worked on: nobody else has the key
        return None

    def _pause(self, asked_for: str | None = None) -> float | None:
        self.made += 1
        if self.made >= MOST:
            return None
        asked = _seconds(asked_for)
        if asked is None or asked > LONGEST_RETRY_AFTER:
            return None
        pause = FIRST_PAUSE * FACTOR ** (self.made - 1)
        return max(pause * (1 + self._randomness.random() / 2), asked)


def _seconds(text: str | None) -> float | None:
    """What `Retry-After` asks for; none, if that is a date: it would be longer than we wait."""
    if text is None:
        return 0.0
    return float(text) if text.isascii() and text.isdigit() else None
