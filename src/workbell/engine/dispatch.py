"""Dispatch: runs whose time has come go from scheduled to queued."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime

from workbell.engine.look import Look
from workbell.stores.port import Store

log = logging.getLogger("workbell.engine")

BATCH = 500


class Dispatch:
    def __init__(self, store: Store, announce: Callable[[], None], poll: float) -> None:
        self._store = store
        self._announce = announce
        self._look = Look(poll)
        self.hint = self._look.hint  # a run may have been scheduled that is due before the next look

    def step(self, now: datetime) -> float:
        """Queue what is due; the answer is how long until the next run is due, or the poll interval."""
        left = self._look.left(now)
        if left is not None:
            return left
        due = self._store.next_due()  # a look first: writing would take the write lock for nothing
        if due is not None and due <= now:
            moved = self._store.dispatch(now, BATCH)
            log.debug("%d runs are due and queued", moved)
            self._announce()
            self._look.again()
            return 0
        at = now + self._look.poll if due is None else min(due, now + self._look.poll)
        self._look.again(at)
        return max((at - now).total_seconds(), 0.001)
