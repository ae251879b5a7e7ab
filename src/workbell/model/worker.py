"""Worker as listed: its process, what it can run, and when it was last seen."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from workbell.model.job import EVERYWHERE
from workbell.model.run import Run

LOST_AFTER = timedelta(seconds=45)
BEAT = 10.0  # seconds between two signs of life


class Worker(msgspec.Struct, frozen=True, kw_only=True):
    """One worker process. Its id names its incarnation too: a process that is started again is another worker."""

    id: str
    host: str
    pid: int
    incarnation: str
    version: str
    queues: tuple[str, ...] | None  # none: all of them
    jobs: tuple[str, ...]
    concurrency: int
    started_at: datetime
    seen_at: datetime
    stopping: bool = False
    drained_at: datetime | None = None  # since when it is to claim nothing more, because an operator asked for that
    drain_seen_at: datetime | None = None  # when it confirmed the drain

    def is_alive(self, now: datetime) -> bool:
        """Whether it was seen lately; what it holds is decided by leases alone, never by this.

        One that was seen in the future was seen before the clock was put back.
        """
        return abs(now - self.seen_at) <= LOST_AFTER

    def serves(self, queue: str, job: str) -> bool:
        return job in self.jobs and (self.queues is None or queue in self.queues or job in EVERYWHERE)


class SeenWorker(NamedTuple):
    """A worker, whether it was seen lately, how many runs it holds, and which of them are this tenant's."""

    worker: Worker
    alive: bool
    busy: int
    runs: list[Run]
