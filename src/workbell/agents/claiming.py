"""Claims runs for an agent: from lanes with its target, by priority, within the limits of their jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from random import Random
from typing import NamedTuple

from workbell.claims.claiming import TenantCache, no_limits
from workbell.claims.lane_choice import choose_lanes
from workbell.claims.limit_room import LimitRoom
from workbell.model.agent import Agent
from workbell.model.limit import Limit, limits_on
from workbell.model.outcome import decide
from workbell.model.retry import Retry
from workbell.model.run import Lane, Run
from workbell.runs.runtime import Runtime
from workbell.scheduling.rule import judge_start
from workbell.stores.port import Head, LeaseTerms
from workbell.stores.publisher import Pair

HEADS = 500  # lanes read for one poll
WIDER = 20  # times as many, if none of them has something to take


class AgentJob(NamedTuple):
    """Settings of a job for its runs with agents."""

    handler: str  # the job whose code runs: itself, or that of a definition
    retry: Retry | None = None
    timeout: float | None = None
    limits: Callable[[Lane], Sequence[Limit]] = no_limits
    enabled: bool = True  # false: a definition whose runs wait


class AgentJobs:
    """Jobs for agents, from the store, else from the registry. Each is read once a request."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._found: dict[str, AgentJob] = {}

    def of(self, job: str) -> AgentJob:
        if job not in self._found:
            self._found[job] = self._read_job(job)
        return self._found[job]

    def timeout(self, run: Run) -> float | None:
        own = run.options.timeout
        return self.of(run.job).timeout if own is None else own

    def takes(self, jobs: Sequence[str] | None, job: str) -> bool:
        """Whether an agent with these jobs takes runs of a job: it has it, or the handler of a definition."""
        if jobs is None or job in jobs:
            return self.of(job).enabled
        # From the cache: of the jobs of other agents, which may be many, none is read.
        definition = self._runtime.definitions.find(self._runtime.tenant, job)
        return definition is not None and definition.handler in jobs and self.of(job).enabled

    def _read_job(self, job: str) -> AgentJob:
        stored = self._runtime.store.jobs.find(self._runtime.tenant, job)
        if stored is not None:
            handler, enabled = (stored.handler, stored.enabled) if stored.is_definition else (job, True)
            return AgentJob(handler, stored.retry, stored.timeout, lambda lane: limits_on(stored.limits, lane), enabled)
        known = self._runtime.registry.find(job)
        return AgentJob(job) if known is None else AgentJob(job, known.retry, known.timeout, known.limits_of)


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
        heads = [head for head in seen if known.takes(jobs, head.lane.job)]
        claimed = _claim_from(runtime, heads, worker, most=most, lease=lease, turn=turn, known=known)
        if claimed or len(seen) < limit:
            return claimed
        limit *= WIDER  # nothing of these is for the agent to take: it may be behind them


def take_for(runtime: Runtime, run: Run, worker: str, *, lease: timedelta, known: AgentJobs) -> Run | None:
    """Claim one run by its id, under a new lease; None if it is not queued, or held back by a pause, by a limit, by its
    window, or because its definition is disabled."""
    store, lane = runtime.store, run.lane
    if not known.of(lane.job).enabled:
        return None
    limits = _limits(runtime, [lane], known)
    now = store.clock.now()
    taken = store.runs.take([run.id], LeaseTerms.drawn(worker, now, now + lease), limits=limits or None)
    starting = keep_windows(runtime, taken, known)
    return starting[0] if starting else None


def keep_windows(runtime: Runtime, claimed: Sequence[Run], known: AgentJobs) -> list[Run]:
    """The claimed runs that may start now, by their windows. The others are put off or ended here."""
    now = runtime.store.clock.now()
    starting: list[Run] = []
    refused: list[Pair] = []
    for run in claimed:
        outcome = judge_start(run, now)
        if outcome is None:
            starting.append(run)
            continue
        retry, keep = known.of(run.job).retry, runtime.keep
        change = decide(run, outcome, now, started_at=None, job_retry=retry, keep=keep, randomness=Random())
        refused.append((run, change))
    if refused:
        runtime.publisher.poll()
        runtime.booking.book_unheld(refused)  # what a lock holds up must not keep the others from the agent
        runtime.store.wake()  # their limits may have let other runs wait
        runtime.wake()
    return starting


def _limits(runtime: Runtime, lanes: Sequence[Lane], known: AgentJobs) -> dict[int, Sequence[Limit]]:
    """The limits of lanes, by their ids: those of their jobs, and those of the tenant."""
    if not lanes:
        return {}
    tenants = TenantCache(runtime.store)
    tenants.refresh(runtime.store.clock.now())
    own = [tenants.limits[runtime.tenant]] if runtime.tenant in tenants.limits else []
    return {lane.id: found for lane in lanes if (found := [*known.of(lane.job).limits(lane), *own])}


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
        taken = store.runs.claim(picks, left, LeaseTerms.drawn(worker, now, now + lease), limits=counted or None)
        claimed += keep_windows(runtime, taken, known)
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
