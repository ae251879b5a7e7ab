"""Dispatch: runs whose time has come go from scheduled to queued."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from workbell.stores.port import Store

BATCH = 500
GAP = timedelta(seconds=0.05)  # a hint is mostly for a run that is queued already: claiming it goes first


class Dispatch:
    def __init__(self, store: Store, announce: Callable[[], None], poll: float) -> None:
        self._store = store
        self._announce = announce
        self._poll = timedelta(seconds=poll)
        self._look_at: datetime | None = None
        self._hinted = False

    def hint(self) -> None:
        """A run may have been scheduled that is due before the next look."""
        self._hinted = True

    def step(self, now: datetime) -> float:
        """Queue what is due; the answer is how long until the next run is due, or the poll interval."""
        if self._look_at is not None and self._hinted:
            self._look_at = min(self._look_at, now + GAP)
        self._hinted = False
        # Further away than a poll can only mean that the clock was put back.
        if self._look_at is not None and timedelta(0) < self._look_at - now <= self._poll:
            return (self._look_at - now).total_seconds()
        due = self._store.next_due()  # a look first: writing would take the write lock for nothing
        if due is not None and due <= now:
            self._store.dispatch(now, BATCH)
            self._announce()
            self._look_at = None
            return 0
        self._look_at = now + self._poll if due is None else min(due, now + self._poll)
        return max((self._look_at - now).total_seconds(), 0.001)
