"""Agent protocol, server side: poll for runs, renew leases, report progress, report results.

Leases and fencing as for workers: whatever is written about a run is guarded by its token. On top of that a run belongs
to the session that claimed it, so that two processes with one identity do not take each other's work for their own.
Every request may arrive twice, late or never, and so may its answer.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Any, NamedTuple

import msgspec

from workbell.agents.claiming import AgentJobs, claim_for, keep_windows, take_for
from workbell.agents.lease_standing import LeaseStanding, lease_standing
from workbell.agents.log_lines import log_lines, progress_text
from workbell.agents.naming import prefix_of, worker_name
from workbell.agents.reports import outcome_of
from workbell.errors import AgentNotFound, InvalidOption, LeaseLost, RunNotFound, StoreError
from workbell.model.agent import CAPACITY, LONGEST_LEASE, MOST_HELD, MOST_JOBS, SHORTEST_LEASE, Agent
from workbell.model.clock import span
from workbell.model.ids import id_of, is_id
from workbell.model.json_text import clean_text, encode
from workbell.model.outcome import Outcome, decide
from workbell.model.run import Run, Status
from workbell.runs.runtime import Runtime
from workbell.stores.port import Held, Renewed
from workbell.wire.agents import AgentLogLine, AttemptReport, LeaseShown

log = logging.getLogger("workbell.agents")

LEASE = timedelta(seconds=30)
METRICS = 8 * 1024  # bytes
SEEN = timedelta(seconds=5)  # `seen_at` of an agent is written at most this often
TRIES = 20


class HandedOut(NamedTuple):
    """A run handed to an agent, with its timeout; and the cancel reason, if a cancel was requested already."""

    run: Run
    handler: str  # the job whose code runs: its own, or that of a definition
    timeout: float | None = None
    cancel: str | None = None


class TakeAnswer(NamedTuple):
    """The answer to a take by id: the run, if the agent has it now; and the run's status."""

    handed: HandedOut | None
    status: Status


class Working:
    """Requests of one agent, which its token identifies."""

    def __init__(self, runtime: Runtime, lease: timedelta = LEASE, randomness: Random | None = None) -> None:
        self._runtime = runtime
        self._lease = lease
        self._random = randomness or Random()

    def agent(self, agent_id: str | None) -> Agent:
        """The calling agent."""
        found = self._runtime.store.agents.find(agent_id) if agent_id is not None and is_id(agent_id) else None
        if found is None or found.tenant != self._runtime.tenant:
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
        known = AgentJobs(self._runtime)
        again = [] if session is None else self._again(worker, wait, holding, known)[:capacity]
        new: list[Run] = []
        if len(again) < capacity:
            new = claim_for(
                self._runtime,
                agent,
                worker,
                jobs=jobs,
                most=capacity - len(again),
                lease=wait,
                turn=self._random.randrange(2**16),
                known=known,
            )
        self._publish_starts(new)
        if len(new) == 1 and new[0].suspect and not again and not holding:
            self._runtime.store.runs.mark_alone(Held(new[0].id, new[0].token))  # then its next loss is held against it
        return again + [_handed(run, known) for run in new]

    def take(
        self, agent: Agent, run_id: str, session: str | None = None, *, lease: float | timedelta | None = None
    ) -> TakeAnswer:
        """Take one run by its id, as a queue's message names it; under pauses and limits as in a poll.

        A session that has it already gets it again, under the same token: the answer that brought it was lost.
        """
        worker, wait = worker_name(agent.id, session), self._span(lease)
        self._see(agent)
        run, known = self._find(agent, run_id), AgentJobs(self._runtime)
        if not agent.enabled or run.target not in agent.targets:
            return TakeAnswer(None, run.status)
        if run.status is Status.RUNNING and session is not None and run.worker == worker:
            again = self._renewed([run], wait, known)
            return TakeAnswer(again[0] if again else None, run.status)
        taken = take_for(self._runtime, run, worker, lease=wait, known=known) if run.status is Status.QUEUED else None
        if taken is None:
            return TakeAnswer(None, self._find(agent, run_id).status)
        self._publish_starts([taken])
        if taken.suspect and [lease.run_id for lease in self._runtime.store.runs.leases_of([worker])] == [run.id]:
            self._runtime.store.runs.mark_alone(Held(run.id, taken.token))
        return TakeAnswer(_handed(taken, known), taken.status)

    def _again(self, worker: str, lease: timedelta, holding: Sequence[Held], known: AgentJobs) -> list[HandedOut]:
        store = self._runtime.store
        named = {(held.run_id, held.token) for held in holding}
        unnamed = {lease[:2] for lease in store.runs.leases_of([worker])} - named
        found = store.runs.find([run_id for run_id, _ in unnamed]).values() if unnamed else ()
        stray = [run for run in found if run.status is Status.RUNNING and (run.id, run.token) in unnamed]
        stray = keep_windows(self._runtime, stray, known)  # the agent never had them: they have not begun
        return self._renewed(stray, lease, known) if stray else []

    def _renewed(self, runs: Sequence[Run], lease: timedelta, known: AgentJobs) -> list[HandedOut]:
        """Hand out runs again that this session holds; without those whose lease is lost."""
        store, own = self._runtime.store, {run.id: run for run in runs}
        now = store.clock.now()
        held = [Held(run.id, run.token) for run in runs]
        good = store.runs.renew(held, now=now, lease_until=now + lease)
        return [
            _handed(msgspec.structs.replace(own[one.run_id], lease_until=now + lease), known, one.cancel_reason)
            for one in good
        ]

    def _publish_starts(self, runs: Sequence[Run]) -> None:
        if not runs:
            return
        self._runtime.publisher.handed_out(runs)
        try:
            self._runtime.publisher.poll()
            self._runtime.publisher.started(runs)
        except StoreError as error:  # they are claimed: the agent must get them
            log.warning("the start of %d runs could not be published: %s", len(runs), error)

    # Renew leases

    def heartbeat(
        self,
        agent: Agent,
        session: str | None = None,
        *,
        holding: Sequence[Held] = (),
        lease: float | timedelta | None = None,
        metrics: dict[str, Any] | None = None,
    ) -> list[LeaseShown]:
        """Renew the leases of these runs; for each, whether the session still holds it."""
        worker, wait = worker_name(agent.id, session), self._span(lease)
        if len(holding) > MOST_HELD:
            raise InvalidOption(f"holding: {len(holding):,} are too many; name {MOST_HELD:,} at the most.")
        self._see(agent, metrics=None if metrics is None else encode("metrics", metrics, METRICS))
        store = self._runtime.store
        requested = [held for held in holding if is_id(held.run_id)]
        found = store.runs.find([held.run_id for held in requested])
        own = [held for held in requested if held.run_id in found and found[held.run_id].worker == worker]
        now = store.clock.now()
        good = {
            (one.run_id, one.token): one
            for one in (store.runs.renew(own, now=now, lease_until=now + wait) if own else [])
        }
        return [_lease(held, good.get((held.run_id, held.token)), now + wait) for held in holding]

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
        """Store progress and log lines of a run; whether they were taken. Reports after its end are not."""
        worker = worker_name(agent.id, session)
        text = progress_text(done, total, message)
        store = self._runtime.store
        run = self._find(agent, run_id)
        held = lease_standing(store, run, worker, token)
        if held is LeaseStanding.LOST:
            raise _lost(run_id)
        taken = False
        if held is LeaseStanding.HELD and text is not None:
            taken = store.runs.set_progress(Held(run.id, token), text)
        if held is LeaseStanding.HELD and lines:
            stored = log_lines(store, run, lines, store.clock.now())
            taken = bool(store.logs.add([(token, line) for line in stored])) or taken
        return taken

    # End runs

    def result(self, agent: Agent, run_id: str, token: int, report: AttemptReport, session: str | None = None) -> bool:
        """Take the result of a run; False if it was taken before, so that this is a repeated report."""
        worker = worker_name(agent.id, session)
        store = self._runtime.store
        for _ in range(TRIES):
            run = self._find(agent, run_id)
            held = lease_standing(store, run, worker, token)
            if held is LeaseStanding.SETTLED:
                return False
            if held is LeaseStanding.LOST:
                raise _lost(run_id)
            if self._write(run, outcome_of(report, run)):
                return True
            # It changed between reading and writing: read again.
        raise StoreError(f"run {run_id}: it keeps changing; report its result again.")

    def _write(self, run: Run, outcome: Outcome) -> bool:
        runtime, now = self._runtime, self._runtime.store.clock.now()
        change = decide(
            run,
            outcome,
            now,
            started_at=run.started_at,
            job_retry=AgentJobs(runtime).of(run.job).retry,
            keep=runtime.keep,
            randomness=self._random,
        )
        runtime.publisher.poll()
        if not runtime.booking.book([(run, change)]):
            return False
        runtime.store.wake()  # its limit may have let another run wait
        runtime.wake()
        return True

    # Shared

    def _find(self, agent: Agent, run_id: str) -> Run:
        """A run that targets the agent, or that it holds: its labels may have changed since."""
        own_id = id_of(run_id)
        run = self._runtime.store.runs.find([own_id]).get(own_id)
        own = run is not None and run.tenant == agent.tenant and run.target is not None
        if run is None or not own or not (run.target in agent.targets or _is_worker(run, agent)):
            raise RunNotFound(f"There is no run {run_id!r} for the agent {agent.name}; it may have been removed.")
        return run

    def _see(self, agent: Agent, *, jobs: tuple[str, ...] | None = None, metrics: str | None = None) -> None:
        now = self._runtime.store.clock.now()
        changed = (jobs is not None and jobs != agent.jobs) or metrics is not None
        if changed or agent.seen_at is None or abs(now - agent.seen_at) >= SEEN:
            self._runtime.store.agents.see(agent.id, now, jobs=jobs, metrics_text=metrics)

    def _span(self, lease: float | timedelta | None) -> timedelta:
        if lease is None:
            return self._lease
        wait = span("lease", lease)
        if not SHORTEST_LEASE <= wait <= LONGEST_LEASE:
            raise InvalidOption(f"lease: {wait.total_seconds():g} s is not from 5 s to 1 h.")
        return wait


def _handed(run: Run, known: AgentJobs, cancel: str | None = None) -> HandedOut:
    return HandedOut(run, known.of(run.job).handler, known.timeout(run), cancel)


def _is_worker(run: Run, agent: Agent) -> bool:
    return run.worker is not None and run.worker.startswith(prefix_of(agent.id))


def _lease(held: Held, renewed: Renewed | None, until: datetime) -> LeaseShown:
    if renewed is None:
        return LeaseShown(id=held.run_id, token=held.token, held=False, lease_until=None, cancel=None)
    return LeaseShown(id=held.run_id, token=held.token, held=True, lease_until=until, cancel=renewed.cancel_reason)


def _lost(run_id: str) -> LeaseLost:
    return LeaseLost(f"run {run_id}: this session does not hold it under this token any more; stop, and drop it.")
