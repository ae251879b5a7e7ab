"""Prune: finished runs and keys whose time is over are removed, in batches; and workers that were lost long ago."""

from __future__ import annotations

from datetime import datetime, timedelta

from workbell.stores.port import Store

BATCH = 1000
WORKERS = timedelta(days=1)  # for which a lost worker is still shown


class Prune:
    def __init__(self, store: Store, pause: float) -> None:
        self._store = store
        self._pause = pause

    def step(self, now: datetime) -> float:
        if self._store.delete_finished(now, BATCH) >= BATCH:
            return 0.05
        lost = [worker.id for worker in self._store.list_workers() if now - worker.seen_at > WORKERS]
        if lost:
            self._store.remove_workers(lost)
        return self._pause
