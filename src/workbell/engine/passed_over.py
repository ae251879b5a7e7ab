"""Rows that another process has locked: a duty leaves them alone for a pause, and goes on with all others.

Whoever holds them mostly commits in a moment. But it may be stuck in its transaction (stopped, paused, cut off from
the network): then trying again at once would only cost, and a batch of nothing but its rows would hide those behind.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from datetime import datetime, timedelta
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)

LONGEST = 1.0  # seconds; a lock may end at any moment


class PassedOver(Generic[Key]):
    """Keys of rows, each until its pause is over."""

    def __init__(self, poll: float) -> None:
        self._pause = timedelta(seconds=min(poll, LONGEST))
        self._until: dict[Key, datetime] = {}

    def add(self, keys: Iterable[Key], now: datetime) -> None:
        until = now + self._pause
        for key in keys:
            self._until[key] = until

    def at(self, now: datetime) -> list[Key]:
        """Those that are to be left alone at this time."""
        if self._until:
            # Further away than a pause can only mean that the clock was put back.
            self._until = {key: until for key, until in self._until.items() if now < until <= now + self._pause}
        return list(self._until)

    @property
    def until(self) -> datetime | None:
        """When the first of them may be tried again."""
        return min(self._until.values(), default=None)
