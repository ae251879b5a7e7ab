"""The verbs for pauses: a queue, a job, or a job in a queue is not claimed until it is resumed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import TypeVar

from workbell.errors import InvalidOption
from workbell.model.job import name
from workbell.model.pause import Pause
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
        made = self.store.pause(self.tenant, queue, job, self.store.clock.now())
        self.nudge()
        return made

    async def apause(self, *, queue: str | None = None, job: str | None = None) -> Pause:
        return await self.hop(lambda: self.pause(queue=queue, job=job))

    def resume(self, *, queue: str | None = None, job: str | None = None) -> int:
        """End the pauses of a queue (also those of single jobs in it), of a job, or of a job in one queue; how many."""
        self._check("resume", queue, job)
        ended = self.store.resume(self.tenant, queue, job)
        self.nudge()
        return ended

    async def aresume(self, *, queue: str | None = None, job: str | None = None) -> int:
        return await self.hop(lambda: self.resume(queue=queue, job=job))

    def pauses(self) -> list[Pause]:
        """What is paused, and since when."""
        self.store.check()
        return self.store.list_pauses(self.tenant)

    async def apauses(self) -> list[Pause]:
        return await self.hop(self.pauses)

    def _check(self, verb: str, queue: str | None, job: str | None) -> None:
        if queue is None and job is None:
            raise InvalidOption(f"{verb}: of what? Give queue=, job=, or both for a job in one queue.")
        for kind, value in (("queue", queue), ("job", job)):
            if value is not None:
                name(kind, value, InvalidOption)
        self.store.check()
