"""Dispatch: runs whose time has come go from scheduled to queued."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from workbell.engine.duty import Batch, Pacing
from workbell.model.run import Run
from workbell.stores.port import Store

log = logging.getLogger("workbell.engine")

BATCH = 500
SHORTEST, LONGEST = 0.05, 1.0  # seconds until what was locked is tried again: twice as long each time


class Dispatch:
    def __init__(self, store: Store, announce: Callable[[Iterable[Run]], None], poll: float) -> None:
        self._store = store
        self._announce = announce
        self._pacing = Pacing(poll)
        self._pause = SHORTEST
        self.waker = self._pacing.waker
        self.hint = self._pacing.hint  # a run may have been scheduled that is due before the next read

    def step(self, now: datetime) -> float:
        """Queue due runs; return the seconds until the next one is due, at most the poll interval."""
        left = self._pacing.left(now)
        if left is not None:
            return left
        due = self._store.runs.next_due()  # a read first: writing would take the write lock for nothing
        if due is not None and due <= now:
            if self._queue(now, BATCH).done:
                self._pause = SHORTEST
                self._pacing.again()
                return 0
            # Another transaction has them locked: it is queueing them, or it replaces them and may still roll back.
            due = self._after(now)
        else:
            self._pause = SHORTEST
        at = now + self._pacing.poll if due is None else min(due, now + self._pacing.poll)
        self._pacing.again(at)
        return max((at - now).total_seconds(), 0.001)

    def queue_due(self, now: datetime, limit: int | None = None) -> Batch:
        """Queue up to `limit` due runs."""
        limit = limit or BATCH
        due = self._store.runs.next_due()
        return self._queue(now, limit) if due is not None and due <= now else Batch(0, False)

    def _queue(self, now: datetime, limit: int) -> Batch:
        moved = self._store.runs.dispatch(now, limit)
        log.debug("%d runs are due and queued", len(moved))
        if moved:
            self._announce(self._found(moved))
        return Batch(len(moved), len(moved) >= limit)

    def _found(self, ids: Sequence[str]) -> Iterator[Run]:
        """Runs that were queued, read only if the announcer needs them."""
        yield from self._store.runs.find(ids).values()

    def _after(self, now: datetime) -> datetime:
        """When to read again, if nothing of what is due could be moved: after a pause, or when the next one is due."""
        pause = now + timedelta(seconds=self._pause)
        self._pause = min(self._pause * 2, LONGEST)
        due = self._store.runs.next_due(now)
        return pause if due is None else min(due, pause)
