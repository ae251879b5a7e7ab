"""The verbs for looking at one run: get, attempts, and why it is not running. Sync, and async with an `a`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from workbell.errors import RunNotFound
from workbell.handlers.registry import Registry
from workbell.model.capability import capability
from workbell.model.ids import is_id
from workbell.model.job import DELIVERY
from workbell.model.limit import Limit, Use, limit_of_tenant, limits_on
from workbell.model.run import Attempt, Run, Status, last_attempt
from workbell.runs.listing import Finding
from workbell.runs.why import explain
from workbell.stores.port import Filter
from workbell.webhooks.slowed import slowed

MOST_RUNNING = 10_000  # runs of a job in a queue that are counted


class Reading(Finding):
    """The part of a client that reads runs."""

    registry: Registry

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
        run = self.store.runs.find([run_id]).get(run_id)
        return run if run is not None and run.tenant == self.tenant else None

    def attempts(self, run_id: str) -> list[Attempt]:
        """Every attempt of a run, oldest first: who worked on it, and how it ended."""
        run = self.get(run_id)
        earlier = self.store.runs.attempts(run_id)
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
        # Not from the counts: for those all that waits is counted.
        beside = Filter(run.tenant, [Status.RUNNING], job=run.job, queue=run.queue, limit=MOST_RUNNING)
        workers = None if run.target is not None else capability(self.store.workers.list(), run.queue, run.job, now)
        return explain(
            run,
            now,
            ahead=self.store.reports.ahead_of(run),
            running=sum(one.lane == run.lane for one in self.store.runs.list(beside)),
            pause=next((one for one in self.store.pauses.list(run.tenant) if one.covers(run.lane)), None),
            held=self._held_by(run, now),
            workers=workers,
            agents=[one for one in self.store.agents.list(run.tenant) if run.target in one.targets]
            if run.target is not None
            else (),
            brake=self._braked(run),
        )

    def _braked(self, run: Run) -> str | None:
        """Of a delivery, that its endpoint fails so often that it is only tried now and then."""
        endpoint = (
            self.store.subscribers.find_endpoint(run.lane.key or "")
            if run.job == DELIVERY and is_id(run.lane.key)
            else None
        )
        found = None if endpoint is None else slowed(self.store, endpoint)
        if endpoint is None or found is None:
            return None
        return f"Its endpoint {endpoint.shown_url} is {found.words}. It spends no attempt meanwhile. {found.remedy}"

    def _held_by(self, run: Run, now: datetime) -> list[tuple[Limit, Use]]:
        """The limits of a run's job that leave nothing."""
        known = self.registry.find(run.job)
        stored = self.store.jobs.find(run.tenant, run.job) if known is None else None
        limits: Sequence[Limit] = ()
        if known is not None:
            limits = known.limits_of(run.lane)
        elif stored is not None:
            limits = limits_on(stored.limits, run.lane)
        tenant = next((one for one in self.store.tenants.list() if one.name == run.tenant), None)
        of_tenant = None if tenant is None else limit_of_tenant(tenant.name, tenant.concurrency, tenant.rate)
        limits = limits if of_tenant is None else (*limits, of_tenant)
        uses = self.store.limits.uses(limits)
        return [(limit, uses[limit.id]) for limit in limits if not limit.room(uses[limit.id], now)]

    async def awhy(self, run_id: str) -> str:
        return await self.hop(self.why, run_id)
