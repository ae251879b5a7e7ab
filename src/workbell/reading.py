"""The verbs for looking at runs: get, runs, attempts, and why one is not running. Sync, and async with an `a`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import ParamSpec, TypeVar

from workbell.errors import InvalidOption, RunNotFound
from workbell.handlers.registry import Registry
from workbell.model.capability import capability
from workbell.model.ids import is_id
from workbell.model.limit import Limit, Use, limits_on
from workbell.model.run import Attempt, Run, Status, last_attempt
from workbell.schedules import Schedules
from workbell.stores.port import Filter, Store
from workbell.why import explain

T = TypeVar("T")
P = ParamSpec("P")

PAGE = 1000


class Reading(ABC):
    """The part of a client that reads runs."""

    store: Store
    registry: Registry
    tenant: str
    schedules: Schedules

    @abstractmethod
    def hop(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Awaitable[T]: ...

    def get(self, run_id: str) -> Run:
        """A run by its id."""
        found = self._find(run_id)
        if found is None:
            raise RunNotFound(f"There is no run {run_id!r} of tenant {self.tenant}; it may have been removed.")
        return found

    async def aget(self, run_id: str) -> Run:
        return await self.hop(self.get, run_id)

    def _find(self, run_id: str) -> Run | None:
        if not is_id(run_id):
            return None
        self.store.check()
        run = self.store.find_runs([run_id]).get(run_id)
        return run if run is not None and run.tenant == self.tenant else None

    def runs(
        self,
        *,
        status: str | Sequence[str] = (),
        job: str | None = None,
        queue: str | None = None,
        tag: str | None = None,
        schedule: str | None = None,
        user_id: int | None = None,
        before: str | None = None,
        limit: int = 100,
    ) -> list[Run]:
        """Runs by filter, newest first; `before` is the id of the last run of the page before."""
        if not 1 <= limit <= PAGE:
            raise InvalidOption(f"limit: {limit} is not from 1 to {PAGE}.")
        try:
            statuses = [Status(word) for word in ([status] if isinstance(status, str) else status)]
        except ValueError as error:
            raise InvalidOption(f"status: {error}; the statuses are {', '.join(Status)}.") from None
        self.store.check()
        if schedule is not None and not is_id(schedule):
            schedule = self.schedules.get(schedule).id
        return self.store.list_runs(Filter(self.tenant, statuses, job, queue, tag, schedule, user_id, before, limit))

    async def aruns(
        self,
        *,
        status: str | Sequence[str] = (),
        job: str | None = None,
        queue: str | None = None,
        tag: str | None = None,
        schedule: str | None = None,
        user_id: int | None = None,
        before: str | None = None,
        limit: int = 100,
    ) -> list[Run]:
        return await self.hop(
            lambda: self.runs(
                status=status,
                job=job,
                queue=queue,
                tag=tag,
                schedule=schedule,
                user_id=user_id,
                before=before,
                limit=limit,
            )
        )

    def attempts(self, run_id: str) -> list[Attempt]:
        """Every attempt of a run, oldest first: who worked on it, and how it ended."""
        run = self.get(run_id)
        earlier = self.store.list_attempts(run_id)
        last = last_attempt(run)
        return [*earlier, last] if last is not None else earlier

    async def aattempts(self, run_id: str) -> list[Attempt]:
        return await self.hop(self.attempts, run_id)

    def why(self, run_id: str) -> str:
        """Why a run is not running (or how it ended), in a sentence or two."""
        run = self.get(run_id)
        now = self.store.clock.now()
        if run.status is not Status.QUEUED:
            return explain(run, now)
        here = [counts for counts in self.store.counts() if counts.lane == run.lane]
        workers = None if run.target is not None else capability(self.store.list_workers(), run.queue, run.job, now)
        return explain(
            run,
            now,
            ahead=self.store.ahead_of(run),
            running=sum(counts.running for counts in here),
            pause=next((one for one in self.store.list_pauses(run.tenant) if one.covers(run.lane)), None),
            held=self._held_by(run, now),
            workers=workers,
        )

    def _held_by(self, run: Run, now: datetime) -> list[tuple[Limit, Use]]:
        """The limits of a run's job that leave nothing."""
        known = self.registry.find(run.job)
        stored = self.store.find_job(run.tenant, run.job) if known is None else None
        limits: Sequence[Limit] = ()
        if known is not None:
            limits = known.limits_of(run.lane)
        elif stored is not None:
            limits = limits_on(stored.limits, run.lane)
        uses = self.store.limit_uses(limits)
        return [(limit, uses[limit.id]) for limit in limits if not limit.room(uses[limit.id], now)]

    async def awhy(self, run_id: str) -> str:
        return await self.hop(self.why, run_id)
