"""The verbs for looking on: the log lines of a run, a run as it goes on, and the workers that are there."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

import msgspec

from workbell.errors import InvalidOption
from workbell.model.log_line import LogLine
from workbell.model.run import Run, Status
from workbell.model.worker import SeenWorker
from workbell.stores.port import Filter, Store

T = TypeVar("T")

LINES = 1000
MOST_RUNNING = 10_000
PACE = 0.25  # seconds between two looks at a run

BEGINNING = (0, -1)


class Watching(ABC):
    """The part of a client that only looks."""

    store: Store
    tenant: str

    @abstractmethod
    def get(self, run_id: str) -> Run: ...

    @abstractmethod
    def hop(self, call: Callable[[], T]) -> Awaitable[T]: ...

    def logs(self, run_id: str, *, after: LogLine | None = None, limit: int = LINES) -> list[LogLine]:
        """What a run's handler logged with `ctx.logger`, oldest first; `after` is the last line of the page before."""
        if not 1 <= limit <= LINES:
            raise InvalidOption(f"limit: {limit} is not from 1 to {LINES}.")
        place = BEGINNING if after is None else (after.attempt, after.line)
        return self.store.logs.list(self.get(run_id).id, after=place, limit=limit)

    async def alogs(self, run_id: str, *, after: LogLine | None = None, limit: int = LINES) -> list[LogLine]:
        return await self.hop(lambda: self.logs(run_id, after=after, limit=limit))

    def workers(self) -> list[SeenWorker]:
        """The workers of the store, of all machines. Lost ones are listed for a day."""
        known, now = self.store.workers.list(), self.store.clock.now()
        held: dict[str | None, list[Run]] = defaultdict(list)
        if known:
            for run in self.store.runs.list(Filter(None, [Status.RUNNING], limit=MOST_RUNNING)):
                held[run.worker].append(run)
        return [
            SeenWorker(
                worker,
                worker.is_alive(now),
                len(held[worker.id]),
                [run for run in reversed(held[worker.id]) if run.tenant == self.tenant],
            )
            for worker in known
        ]

    async def aworkers(self) -> list[SeenWorker]:
        return await self.hop(self.workers)

    def watch(self, run_id: str, *, pace: float = PACE) -> Iterator[Run]:
        """A run as it is now, and again whenever it has changed, until it has ended; looked at every `pace` seconds."""
        if not pace > 0:
            raise InvalidOption(f"pace: {pace} is not more than 0.")
        last: Run | None = None
        for run in looks(self, run_id, pace):
            now = msgspec.structs.replace(run, lease_until=None)  # renewed again and again, and no news
            if now != last:
                last = now
                yield run


def looks(client: Watching, run_id: str, pace: float = PACE) -> Iterator[Run]:
    """A run again and again, changed or not, until it has ended."""
    while True:
        run = client.get(run_id)
        yield run
        if run.status.final:
            return
        time.sleep(pace)
