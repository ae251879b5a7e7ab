"""What a handler can return instead of a result, to steer its run."""

from __future__ import annotations

from datetime import timedelta

import msgspec


class Cancel(msgspec.Struct, frozen=True):
    """Return this from a handler to end its run as canceled, with a reason."""

    reason: str = "canceled by its handler"


class Snooze(msgspec.Struct, frozen=True):
    """Return this from a handler to be called again later; no attempt is spent."""

    delay: float | timedelta = 60.0
    reason: str | None = None

    @property
    def wait(self) -> timedelta:
        return self.delay if isinstance(self.delay, timedelta) else timedelta(seconds=self.delay)
