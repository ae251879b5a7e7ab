"""Prune: finished runs and keys whose time is over are removed, in batches."""

from __future__ import annotations

from datetime import datetime

from workbell.stores.port import Store

BATCH = 1000


class Prune:
    def __init__(self, store: Store, pause: float) -> None:
        self._store = store
        self._pause = pause

    def step(self, now: datetime) -> float:
        return 0.05 if self._store.delete_finished(now, BATCH) >= BATCH else self._pause
