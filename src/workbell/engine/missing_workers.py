"""Missing workers: those without a heartbeat for long that hold nothing are published as lost.

The loss of one that held runs is published by the sweep, with the runs (see recover): this waits for that. And it
polls twice: where the store, or this machine, was away for a while, no heartbeat could be written, and all are back a
moment later.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from workbell.model.worker import LOST_AFTER
from workbell.runs.publisher import RunPublisher
from workbell.stores.port import Store

PAUSE = 15.0  # seconds: longer than from one heartbeat to the next; a poll, if that is longer
RECENT = LOST_AFTER + timedelta(minutes=10)  # a process that starts does not publish older losses


class MissingWorkers:
    def __init__(self, store: Store, publisher: RunPublisher, poll: float = 1.0) -> None:
        self._store = store
        self._publisher = publisher
        self._pause = max(PAUSE, poll)
        self._published: set[str] | None = None
        self._unseen: dict[str, datetime] = {}  # workers that were gone at the last poll, and since when

    def step(self, now: datetime) -> float:
        gone = [worker for worker in self._store.workers.list() if not worker.is_alive(now)]
        if self._published is None:
            self._published = {worker.id for worker in gone if now - worker.seen_at > RECENT}
        self._published &= {worker.id for worker in gone}
        sure = [one.id for one in gone if one.id not in self._published and self._unseen.get(one.id) == one.seen_at]
        holding = {lease.worker for lease in self._store.runs.leases_of(sure)} if sure else set()
        new = [worker_id for worker_id in sure if worker_id not in holding]
        if new:
            self._publisher.missing(new, now)
            self._published.update(new)
        self._unseen = {worker.id: worker.seen_at for worker in gone}
        return self._pause
