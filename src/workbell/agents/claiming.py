"""Claims runs for an agent: from lanes with its target, by priority, within the limits of their jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from workbell.claims.claiming import TenantCache
from workbell.claims.lane_choice import choose_lanes
from workbell.claims.limit_room import LimitRoom
from workbell.model.agent import Agent
from workbell.model.limit import Limit, limits_on
from workbell.model.retry import Retry
from workbell.model.run import Lane, Run
from workbell.runs.runtime import Runtime
from workbell.stores.port import Head, LeaseTerms

HEADS = 500  # lanes read for one poll
WIDER = 20  # times as many, if none of them has something to take


AgentJob = tuple[Retry | None, float | None, Callable[[Lane], Sequence[Limit]], str | None]


class AgentJobs:
    """Retry policy, timeout and limits of jobs, from the store, else from the registry. Read once a request."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._found: dict[str, AgentJob] = {}

    def retry(self, job: str) -> Retry | None:
        return self._of(job)[0]

    def timeout(self, run: Run) -> float | None:
        own = run.options.timeout
        return self._of(run.job)[1] if own is None else own

    def limits(self, lane: Lane) -> Sequence[Limit]:
        return self._of(lane.job)[2](lane)

    def handler(self, job: str) -> str | None:
        """The job whose code runs: itself, or the handler of a definition; None, if that is disabled."""
        return self._of(job)[3]

    def _of(self, job: str) -> AgentJob:
        if job not in self._found:
            self._found[job] = self._read_job(job)
        return self._found[job]

    def _read_job(self, job: str) -> AgentJob:
        stored = self._runtime.store.jobs.find(self._runtime.tenant, job)
        if stored is not None:
            code = (stored.handler if stored.enabled else None) if stored.is_definition else job
            return stored.retry, stored.timeout, lambda lane: limits_on(stored.limits, lane), code
        known = self._runtime.registry.find(job)
        if known is not None:
            return known.retry, known.timeout, known.limits_of, job
        return None, None, lambda _lane: (), job


def claim_for(
    runtime: Runtime,
    agent: Agent,
    worker: str,
    *,
    jobs: Sequence[str] | None,
    most: int,
    lease: timedelta,
    turn: int,
    known: AgentJobs,
) -> list[Run]:
    """Claim up to `most` runs that target an agent, each under a new lease, in the order of execution."""
    limit = HEADS
    while True:
        seen = runtime.store.runs.survey_tenant(runtime.tenant, limit, agent.targets)
        heads = [head for head in seen if _takes(jobs, head.lane.job, known)]
        claimed = _claim_from(runtime, heads, worker, most=most, lease=lease, turn=turn, known=known)
        if claimed or len(seen) < limit:
            return claimed
        limit *= WIDER  # nothing of these is for the agent to take: it may be behind them


def take_for(runtime: Runtime, run: Run, worker: str, *, lease: timedelta, known: AgentJobs) -> Run | None:
    """Claim one run by its id, under a new lease; None if it is not queued, or held back by a pause, by a limit, or
    because its definition is disabled."""
    store, lane = runtime.store, run.lane
    if known.handler(lane.job) is None:
        return None
    limits = _limits(runtime, [lane], known)
    now = store.clock.now()
    taken = store.runs.take([run.id], LeaseTerms(worker, now, now + lease), limits=limits or None)
    return taken[0] if taken else None


def _limits(runtime: Runtime, lanes: Sequence[Lane], known: AgentJobs) -> dict[int, Sequence[Limit]]:
    """The limits of lanes, by their ids: those of their jobs, and those of the tenant."""
    if not lanes:
        return {}
    tenants = TenantCache(runtime.store)
    tenants.refresh(runtime.store.clock.now())
    own = [tenants.limits[runtime.tenant]] if runtime.tenant in tenants.limits else []
    return {lane.id: found for lane in lanes if (found := [*known.limits(lane), *own])}


def _takes(jobs: Sequence[str] | None, job: str, known: AgentJobs) -> bool:
    """Whether an agent with these jobs takes runs of a job: it has it, or the handler of a definition."""
    handler = known.handler(job)
    return handler is not None and (jobs is None or job in jobs or handler in jobs)


def _claim_from(
    runtime: Runtime, heads: Sequence[Head], worker: str, *, most: int, lease: timedelta, turn: int, known: AgentJobs
) -> list[Run]:
    store = runtime.store
    limits = _limits(runtime, [head.lane for head in heads], known)
    room = LimitRoom(store)
    claimed: list[Run] = []
    while heads and len(claimed) < most:
        now: datetime = store.clock.now()
        left = most - len(claimed)
        if limits:
            room.read({head.lane_id: limits[head.lane_id] for head in heads if head.lane_id in limits}, now)
        picks = choose_lanes(heads, left, turn, lambda _lane: True, _room(room, left) if limits else None)
        if not picks:
            break
        counted = {pick.lane_id: limits[pick.lane_id] for pick in picks if pick.lane_id in limits}
        taken = store.runs.claim(picks, left, LeaseTerms(worker, now, now + lease), limits=counted or None)
        claimed += taken
        heads = _that_may_have_more(heads, {(pick.lane_id, pick.rank): pick.quota for pick in picks}, taken)
    return claimed


def _room(room: LimitRoom, most: int) -> Callable[[Lane], int]:
    return lambda lane: room.of(lane.id, most)


def _that_may_have_more(heads: Sequence[Head], quotas: dict[tuple[int, int], int], taken: Sequence[Run]) -> list[Head]:
    """Drops lanes that gave less than their quota, so every round takes a run or drops a lane."""
    given = Counter((run.lane.id, run.rank) for run in taken)
    return [
        head for head in heads if (key := (head.lane_id, head.rank)) not in quotas or given[key] >= max(quotas[key], 1)
    ]
