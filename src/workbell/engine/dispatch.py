"""Dispatch: runs whose time has come go from scheduled to queued."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from workbell.stores.port import Store

BATCH = 500
GAP = timedelta(seconds=0.05)  # hints come by the hundred; looking this often is enough


class Dispatch:
    def __init__(self, store: Store, announce: Callable[[], None], poll: float) -> None:
        self._store = store
        self._announce = announce
        self._poll = poll
        self._last: datetime | None = None

    def step(self, now: datetime) -> float:
        """Queue what is due; the answer is how long until the next run is due, or the poll interval."""
        if self._last is not None and timedelta(0) <= now - self._last < GAP:
            return (GAP - (now - self._last)).total_seconds()
        self._last = now
        due = self._store.next_due()  # a look first: writing would take the write lock for nothing
        if due is None or due > now:
            return self._poll if due is None else min(max((due - now).total_seconds(), 0.001), self._poll)
        self._store.dispatch(now, BATCH)
        self._announce()
        self._last = None
        return 0
