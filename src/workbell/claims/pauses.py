"""The verbs for pauses: a queue, a job, or a job in a queue is not claimed until it is resumed, or not by a worker."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import TypeVar

from workbell.errors import InvalidOption, WorkerNotFound
from workbell.model.job import name
from workbell.model.pause import Pause
from workbell.model.worker import SeenWorker, Worker
from workbell.stores.port import Store

T = TypeVar("T")


class Pausing(ABC):
    """The part of a client that pauses and resumes."""

    store: Store
    tenant: str
    nudge: Callable[[], None]

    @abstractmethod
    def hop(self, call: Callable[[], T]) -> Awaitable[T]: ...

    def pause(self, *, queue: str | None = None, job: str | None = None) -> Pause:
        """Start no more runs of a queue, of a job, or of a job in one queue, until `resume`; what is running goes on.

        Runs are still taken, and wait. At the latest one poll (the setting `poll`) after this returns, no handler of
        them begins anywhere.
        """
        self._check("pause", queue, job)
        made = self.store.pauses.add(self.tenant, queue, job, self.store.clock.now())
        self.nudge()
        return made

    async def apause(self, *, queue: str | None = None, job: str | None = None) -> Pause:
        return await self.hop(lambda: self.pause(queue=queue, job=job))

    def resume(self, *, queue: str | None = None, job: str | None = None) -> int:
        """End the pauses of a queue (also those of single jobs in it), of a job, or of a job in one queue; how many."""
        self._check("resume", queue, job)
        ended = self.store.pauses.remove(self.tenant, queue, job)
        self.nudge()
        return ended

    async def aresume(self, *, queue: str | None = None, job: str | None = None) -> int:
        return await self.hop(lambda: self.resume(queue=queue, job=job))

    def pauses(self) -> list[Pause]:
        """What is paused, and since when."""
        return self.store.pauses.list(self.tenant)

    async def apauses(self) -> list[Pause]:
        return await self.hop(self.pauses)

    def drain_worker(self, worker_id: str) -> SeenWorker:
        """Have a worker claim nothing until `resume_worker`; what it runs goes on, what it has not begun goes back.

        It obeys soon, at the latest after ten seconds, says so (`worker.drain_seen_at`: it begins nothing more), and
        stays there. Once it has said so and holds nothing any more (`busy` is 0), its machine can be taken away. It
        works for all tenants, and is drained for all. One that is started again is another worker, and claims.
        """
        self._living(worker_id)
        return self._turned(worker_id, self.store.workers.drain(worker_id, self.store.clock.now()))

    async def adrain_worker(self, worker_id: str) -> SeenWorker:
        return await self.hop(lambda: self.drain_worker(worker_id))

    def resume_worker(self, worker_id: str) -> SeenWorker:
        """Let a drained worker claim runs again."""
        self._living(worker_id)
        return self._turned(worker_id, self.store.workers.resume(worker_id))

    async def aresume_worker(self, worker_id: str) -> SeenWorker:
        return await self.hop(lambda: self.resume_worker(worker_id))

    def _living(self, worker_id: str) -> None:
        known = self.store.workers.find(worker_id)
        if known is None:
            raise _no_worker(worker_id)
        if not known.is_alive(self.store.clock.now()):
            raise WorkerNotFound(
                f"worker {worker_id} is lost: it was last seen at {known.seen_at:%Y-%m-%d %H:%M:%S} UTC. What it held "
                "goes to others when its leases end."
            )

    def _turned(self, worker_id: str, worker: Worker | None) -> SeenWorker:
        if worker is None:  # it stopped at this moment
            raise _no_worker(worker_id)
        self.store.wake()
        self.nudge()
        held = self.store.runs.held_by(worker.id)
        return SeenWorker(worker, True, len(held), [run for run in held if run.tenant == self.tenant])

    def _check(self, verb: str, queue: str | None, job: str | None) -> None:
        if queue is None and job is None:
            raise InvalidOption(f"{verb}: of what? Give queue=, job=, or both for a job in one queue.")
        for kind, value in (("queue", queue), ("job", job)):
            if value is not None:
                name(kind, value, InvalidOption)


def _no_worker(worker_id: str) -> WorkerNotFound:
    return WorkerNotFound(f"There is no worker {worker_id[:200]!r}; bell.workers() lists them.")
