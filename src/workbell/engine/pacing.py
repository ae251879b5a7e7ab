"""Pacing of a duty that reads the store: at a time it knows of, at the latest after a poll, or soon after a hint."""

from __future__ import annotations

from datetime import datetime, timedelta

from workbell.engine.duty import Waker


class Pacing:
    """A hint is mostly for a run that is queued already. Claiming that goes first, so it is followed after a gap."""

    def __init__(self, poll: float, gap: float = 0.05, waker: Waker | None = None) -> None:
        self.waker = waker or Waker()
        self.poll = timedelta(seconds=poll)
        self._gap = timedelta(seconds=min(gap, poll))
        self._at: datetime | None = None  # none: now
        self._hinted = False
        self._soon = False  # a hint is on its way to being followed

    def hint(self) -> bool:
        """Something may have changed, so that there is something to do before the next read.

        Whether the duty was woken for that: of many hints in a gap the first is enough.
        """
        first, self._soon, self._hinted = not self._soon, True, True
        if first:
            self.waker.wake()
        return first

    def left(self, now: datetime) -> float | None:
        """How many seconds until the next read; none, if it is time."""
        if self._at is not None and self._hinted:
            self._at = min(self._at, now + self._gap)
        self._hinted = False
        # Further away than a poll can only mean that the clock was put back.
        if self._at is not None and timedelta(0) < self._at - now <= self.poll:
            return (self._at - now).total_seconds()
        self._soon = False  # before the read: what changes while it lasts needs another one
        return None

    def again(self, at: datetime | None = None) -> None:
        """Read at this time, or at once."""
        self._at = at
