"""Back-off for rows that another process has locked: a duty skips them for a pause, and goes on with all others.

Their holder mostly commits in a moment. But it may be stuck in its transaction (stopped, paused, cut off from the
network): then trying again at once would only cost, and a batch of nothing but its rows would hide those behind.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from datetime import datetime, timedelta
from typing import Generic, NamedTuple, TypeVar

Key = TypeVar("Key", bound=Hashable)

SHORTEST = timedelta(seconds=0.05)  # the default first pause; each one after it is twice as long
LONGEST = timedelta(seconds=1)  # a lock may end at any moment


class RowPause(NamedTuple):
    """Back-off of one row: the length of its pause, and its end."""

    length: timedelta
    until: datetime


class PassedOver(Generic[Key]):
    """Back-off by row key: each row is skipped until its pause is over."""

    def __init__(self, shortest: timedelta = SHORTEST) -> None:
        self._shortest = shortest
        self._pauses: dict[Key, RowPause] = {}

    def add(self, keys: Iterable[Key], now: datetime, *, longest: bool = False) -> None:
        """Add rows that were locked; `longest`: with the longest pause at once."""
        for key in keys:
            before = self._pauses.get(key)
            length = self._shortest if before is None else min(before.length * 2, LONGEST)
            length = LONGEST if longest else length
            self._pauses[key] = RowPause(length, now + length)

    def at(self, now: datetime) -> list[Key]:
        """The keys of rows to skip at this time."""
        if not self._pauses:
            return []
        # Pauses that are over are remembered for a while, to be doubled. Further away than the longest can only mean
        # that the clock was put back.
        self._pauses = {key: pause for key, pause in self._pauses.items() if abs(pause.until - now) <= LONGEST}
        return [key for key, pause in self._pauses.items() if pause.until > now]

    def until(self, now: datetime) -> datetime | None:
        """When the first of them may be tried again."""
        return min((pause.until for pause in self._pauses.values() if pause.until > now), default=None)
