"""Worker as listed: its process, what it can run, and when it was last seen."""

from __future__ import annotations

from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from workbell.model.agent import is_agent
from workbell.model.clock import Instant
from workbell.model.job import EVERYWHERE
from workbell.model.run import Run
from workbell.model.unreadable import UNREADABLE

LOST_AFTER = timedelta(seconds=45)
BEAT = 10.0  # seconds between two signs of life


class Worker(msgspec.Struct, frozen=True, kw_only=True):
    """One worker process. Its id names its incarnation too: a process that is started again is another worker."""

    id: Annotated[str, Meta(description="`host/pid/start/…`; a process that is started again is another worker.")]
    host: Annotated[str, Meta(examples=["box-1"])]
    pid: int
    incarnation: Annotated[str, Meta(description="Distinguishes it from an earlier process with the same pid.")]
    version: str
    queues: Annotated[tuple[str, ...] | None, Meta(description="The queues that it serves; null: all.")]
    jobs: tuple[str, ...]
    concurrency: int
    started_at: Instant
    seen_at: Instant
    stopping: Annotated[bool, Meta(description="True: it takes no more runs, and ends what it has.")] = False
    drained_at: Annotated[
        Instant | None, Meta(description="Since when it is to claim nothing more; none: it claims.")
    ] = None
    drain_seen_at: Annotated[
        Instant | None,
        Meta(description="When it confirmed the drain, and begins nothing more; none: it may not have read it yet."),
    ] = None
    unreadable: Annotated[str | None, Meta(description=UNREADABLE)] = None

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


def alias_of(worker_id: str) -> str:
    """Alias of a worker for tenants other than the program's: always the same, and it names no host.

    An agent belongs to the tenant whose runs it holds, and has no other name there.
    """
    return worker_id if is_agent(worker_id) else f"worker-{blake2b(worker_id.encode(), digest_size=6).hexdigest()}"
