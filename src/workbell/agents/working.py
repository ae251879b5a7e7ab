"""What an agent does: poll for runs, keep their leases, tell how far they are, and what came of them.

Leases and fencing as for workers: whatever is written about a run is guarded by its token. On top of that a run belongs
to the session that claimed it, so that two processes with one identity do not take each other's work for their own.
Every verb may come twice, late or not at all, and so may its answer.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Any, NamedTuple

import msgspec

from workbell.agents.claiming import AgentJobs, claim_for
from workbell.agents.lease_standing import Standing, standing
from workbell.agents.log_lines import AgentLogLine, log_lines, progress_text
from workbell.agents.naming import prefix_of, worker_name
from workbell.agents.reports import AttemptReport, outcome_of
from workbell.client.client import Client
from workbell.errors import AgentNotFound, InvalidOption, LeaseLost, RunNotFound, StoreError
from workbell.model.agent import LONGEST_LEASE, Agent
from workbell.model.clock import span
from workbell.model.ids import is_id
from workbell.model.outcome import Outcome, decide
from workbell.model.payload import clean_text, encode
from workbell.model.run import Run
from workbell.stores.port import Held

log = logging.getLogger("workbell.agents")

LEASE = timedelta(seconds=30)
SHORTEST, LONGEST = timedelta(seconds=5), LONGEST_LEASE
CAPACITY = 100
MOST_HELD = 1000
MOST_JOBS = 1000
METRICS = 8 * 1024
SEEN = timedelta(seconds=5)  # no more often is it noted that an agent was heard of
TRIES = 20


class HandedOut(NamedTuple):
    """A run in an agent's hands: how long it may take; and if its end was asked for already, with which reason."""

    run: Run
    timeout: float | None = None
    cancel: str | None = None


class KeptLease(NamedTuple):
    """A lease after a heartbeat: until when it is good, none if it is lost; and whether the run's end was asked for."""

    run_id: str
    token: int
    lease_until: datetime | None
    cancel: str | None = None


class Working:
    """The verbs of one agent, called with what its token says it is."""

    def __init__(self, client: Client, lease: timedelta = LEASE, randomness: Random | None = None) -> None:
        self._client = client
        self._lease = lease
        self._random = randomness or Random()

    def agent(self, agent_id: str | None) -> Agent:
        """Who asks."""
        found = self._client.store.agents.find(agent_id) if agent_id is not None and is_id(agent_id) else None
        if found is None or found.tenant != self._client.tenant:
            raise AgentNotFound("This token belongs to no agent, or the agent was removed; pair it again.")
        return found

    # Take runs

    def poll(
        self,
        agent: Agent,
        session: str | None = None,
        *,
        jobs: Sequence[str] | None = None,
        capacity: int = 1,
        lease: float | timedelta | None = None,
        holding: Sequence[Held] = (),
    ) -> list[HandedOut]:
        """Runs for an agent, up to its capacity.

        First those that this session has according to the store and does not name in `holding`: the answer that
        brought them was lost. They keep their tokens. Without a session nothing is handed out a second time.
        """
        worker, wait = worker_name(agent.id, session), self._span(lease)
        if isinstance(capacity, bool) or not isinstance(capacity, int) or not 0 <= capacity <= CAPACITY:
            raise InvalidOption(f"capacity: {capacity!r} is not from 0 to {CAPACITY}.")
        if jobs is not None and len(jobs) > MOST_JOBS:
            raise InvalidOption(f"jobs: {len(jobs):,} are too many; name {MOST_JOBS:,} at the most, or none for any.")
        self._see(agent, jobs=None if jobs is None else tuple(sorted({clean_text(job, 200) for job in jobs})))
        if not agent.enabled:
            return []
        known = AgentJobs(self._client)
        again = [] if session is None else self._again(worker, wait, holding, known)[:capacity]
        new: list[Run] = []
        if len(again) < capacity:
            new = claim_for(
                self._client,
                agent,
                worker,
                jobs=jobs,
                most=capacity - len(again),
                lease=wait,
                turn=self._random.randrange(2**16),
                known=known,
            )
        self._tell_starts(new)
        if len(new) == 1 and new[0].suspect and not again and not holding:
            self._client.store.runs.mark_alone(Held(new[0].id, new[0].token))  # then its next loss is held against it
        return again + [HandedOut(run, known.timeout(run)) for run in new]

    def _again(self, worker: str, lease: timedelta, holding: Sequence[Held], known: AgentJobs) -> list[HandedOut]:
        store = self._client.store
        named = {(held.run_id, held.token) for held in holding}
        stray = {run.id: run for run in store.runs.held_by(worker) if (run.id, run.token) not in named}
        if not stray:
            return []
        now = store.clock.now()
        held = [Held(run.id, run.token) for run in stray.values()]
        good = store.runs.renew(held, now=now, lease_until=now + lease)
        return [
            HandedOut(
                msgspec.structs.replace(stray[one.run_id], lease_until=now + lease),
                known.timeout(stray[one.run_id]),
                one.cancel_reason,
            )
            for one in good
        ]

    def _tell_starts(self, runs: Sequence[Run]) -> None:
        if not runs:
            return
        telling = self._client.telling
        try:
            telling.look()
            events = telling.starts(runs)
            if events:
                self._client.store.events.add(events)
                self._client.nudge()
        except StoreError as error:  # they are claimed: the agent must hear of them
            log.warning("the start of %d runs could not be told: %s", len(runs), error)

    # Keep runs

    def heartbeat(
        self,
        agent: Agent,
        session: str | None = None,
        *,
        holding: Sequence[Held] = (),
        lease: float | timedelta | None = None,
        metrics: dict[str, Any] | None = None,
    ) -> list[KeptLease]:
        """Keep the leases of these runs; for each, whether it is still the session's."""
        worker, wait = worker_name(agent.id, session), self._span(lease)
        if len(holding) > MOST_HELD:
            raise InvalidOption(f"holding: {len(holding):,} are too many; name {MOST_HELD:,} at the most.")
        self._see(agent, metrics=None if metrics is None else encode("metrics", metrics, METRICS))
        store = self._client.store
        asked = [held for held in holding if is_id(held.run_id)]
        found = store.runs.find([held.run_id for held in asked])
        own = [held for held in asked if held.run_id in found and found[held.run_id].worker == worker]
        now = store.clock.now()
        good = {
            (one.run_id, one.token): one
            for one in (store.runs.renew(own, now=now, lease_until=now + wait) if own else [])
        }
        return [
            KeptLease(held.run_id, held.token, now + wait, good[place].cancel_reason)
            if (place := (held.run_id, held.token)) in good
            else KeptLease(held.run_id, held.token, None)
            for held in holding
        ]

    def progress(
        self,
        agent: Agent,
        run_id: str,
        token: int,
        session: str | None = None,
        *,
        done: float | None = None,
        total: float | None = None,
        message: str | None = None,
        lines: Sequence[AgentLogLine] = (),
    ) -> bool:
        """Tell how far a run is, and what it logged; whether that was taken. What comes after the end is not."""
        worker = worker_name(agent.id, session)
        text = progress_text(done, total, message)
        store = self._client.store
        run = self._find(agent, run_id)
        held = standing(store, run, worker, token)
        if held is Standing.LOST:
            raise _lost(run_id)
        taken = False
        if held is Standing.HELD and text is not None:
            taken = store.runs.set_progress(Held(run_id, token), text)
        if held is Standing.HELD and lines:
            kept = log_lines(store, run, lines, store.clock.now())
            taken = bool(store.logs.add([(token, line) for line in kept])) or taken
        return taken

    # End runs

    def result(self, agent: Agent, run_id: str, token: int, report: AttemptReport, session: str | None = None) -> bool:
        """Take what came of a run; false, if that was taken before: then this is the same report once more."""
        worker = worker_name(agent.id, session)
        store = self._client.store
        for _ in range(TRIES):
            run = self._find(agent, run_id)
            held = standing(store, run, worker, token)
            if held is Standing.SETTLED:
                return False
            if held is Standing.LOST:
                raise _lost(run_id)
            if self._write(run, outcome_of(report, run)):
                return True
            # It moved between reading and writing: look again.
        raise StoreError(f"run {run_id}: it keeps changing; report its result again.")

    def _write(self, run: Run, outcome: Outcome) -> bool:
        client, now = self._client, self._client.store.clock.now()
        change = decide(
            run,
            outcome,
            now,
            started_at=run.started_at,
            job_retry=AgentJobs(client).retry(run.job),
            keep=client.keep,
            randomness=self._random,
        )
        client.telling.look()
        if not client.booking.book([(run, change)]):
            return False
        # Somebody may wait for it, or for the place that it had.
        client.waiter.nudge()
        client.store.wake()
        client.nudge()
        return True

    # What all have in common

    def _find(self, agent: Agent, run_id: str) -> Run:
        """A run that is aimed at the agent, or that it holds: what it is aimed at may change meanwhile."""
        run = self._client.store.runs.find([run_id]).get(run_id) if is_id(run_id) else None
        own = run is not None and run.tenant == agent.tenant and run.target is not None
        if run is None or not own or not (run.target in agent.targets or _is_worker(run, agent)):
            raise RunNotFound(f"There is no run {run_id!r} for the agent {agent.name}; it may have been removed.")
        return run

    def _see(self, agent: Agent, *, jobs: tuple[str, ...] | None = None, metrics: str | None = None) -> None:
        now = self._client.store.clock.now()
        news = (jobs is not None and jobs != agent.jobs) or metrics is not None
        if news or agent.seen_at is None or abs(now - agent.seen_at) >= SEEN:
            self._client.store.agents.see(agent.id, now, jobs=jobs, metrics_text=metrics)

    def _span(self, lease: float | timedelta | None) -> timedelta:
        if lease is None:
            return self._lease
        wait = span("lease", lease)
        if not SHORTEST <= wait <= LONGEST:
            raise InvalidOption(f"lease: {wait.total_seconds():g} s is not from 5 s to 1 h.")
        return wait


def _is_worker(run: Run, agent: Agent) -> bool:
    return run.worker is not None and run.worker.startswith(prefix_of(agent.id))


def _lost(run_id: str) -> LeaseLost:
    return LeaseLost(f"run {run_id}: this session does not hold it under this token any more; stop, and drop it.")
