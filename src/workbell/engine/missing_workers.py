"""Missing: workers that were not heard of for long and hold nothing are told of as lost.

Of one that held runs the sweep tells, with the runs (see recover); so this waits until the sweep is through with it.
And it looks twice: where the store, or this machine, was away for a while, nobody could be seen, and they are all seen
again a moment later.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from workbell.model.worker import LOST_AFTER
from workbell.stores.port import Store

PAUSE = 15.0  # longer than a worker takes to be seen again
NEWS = LOST_AFTER + timedelta(minutes=10)  # whoever was lost before that is no news to a process that starts now


class MissingWorkers:
    def __init__(self, store: Store, tell: Callable[[Sequence[str]], None]) -> None:
        self._store = store
        self._tell = tell
        self._told: set[str] | None = None
        self._unseen: dict[str, datetime] = {}  # who was gone at the last look, and since when

    def step(self, now: datetime) -> float:
        gone = [worker for worker in self._store.workers.list() if not worker.is_alive(now)]
        if self._told is None:
            self._told = {worker.id for worker in gone if now - worker.seen_at > NEWS}
        self._told &= {worker.id for worker in gone}
        sure = [one.id for one in gone if one.id not in self._told and self._unseen.get(one.id) == one.seen_at]
        new = [worker_id for worker_id in sure if not self._store.runs.held_by(worker_id)]
        if new:
            self._tell(new)
            self._told.update(new)
        self._unseen = {worker.id: worker.seen_at for worker in gone}
        return PAUSE
