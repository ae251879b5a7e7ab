"""The memory store: dicts and the same transitions. The reference that the SQL stores are compared with.

It keeps a run's life only, in one process; it is for tests and for trying things out.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from workbell.errors import WrongConnection
from workbell.model import state
from workbell.model.clock import EPOCH, Clock, SystemClock
from workbell.model.job import Job
from workbell.model.limit import Limit
from workbell.model.log_line import LogLine
from workbell.model.pause import Pause
from workbell.model.rate import Starts
from workbell.model.run import PENDING, Added, Attempt, Lane, NewRun, OnDuplicate, Run, Status
from workbell.model.state import Keep, Transition
from workbell.model.worker import Worker
from workbell.stores.allotment import Allotment
from workbell.stores.flat_parts import add_flat_parts
from workbell.stores.memory_access import MemoryAccess
from workbell.stores.memory_agents import MemoryAgents
from workbell.stores.memory_events import MemoryEvents
from workbell.stores.memory_limits import MemoryLimits
from workbell.stores.memory_logs import MemoryLogs
from workbell.stores.memory_parts import add_parts
from workbell.stores.memory_people import MemoryPeople
from workbell.stores.memory_recent import MemoryRecent
from workbell.stores.memory_schedules import MemorySchedules
from workbell.stores.memory_search import MemorySearch
from workbell.stores.memory_tallies import MemoryTallies
from workbell.stores.memory_workers import MemoryWorkers
from workbell.stores.notifications.notifications import ReadMark
from workbell.stores.port import (
    Batch,
    Counts,
    Head,
    Held,
    Lease,
    NoPublisher,
    Pair,
    Pick,
    Publisher,
    Renewed,
    Watch,
)
from workbell.stores.statements import SAME_KEY, SAME_TAG, following, refuse_other_request, reject_duplicate

replace = msgspec.structs.replace


class MemoryStore(
    MemoryEvents,
    MemorySchedules,
    MemoryLogs,
    MemoryWorkers,
    MemoryLimits,
    MemoryAccess,
    MemoryPeople,
    MemoryAgents,
    MemoryTallies,
    MemorySearch,
    MemoryRecent,
):
    """Everything in dicts, under one lock."""

    runs: Any
    schedules: Any
    events: Any
    reports: Any
    limits: Any
    jobs: Any
    subscribers: Any
    logs: Any
    pauses: Any
    workers: Any
    services: Any
    tokens: Any
    tenants: Any
    audit: Any
    answers: Any
    notifications: Any
    agents: Any
    tallies: Any

    def __init__(self, clock: Clock | None = None, keep: Keep | None = None) -> None:
        self.clock: Clock = clock or SystemClock()
        self.keep = keep or Keep()
        self.publisher: Publisher = NoPublisher()
        self._lock = threading.RLock()
        self._changed = threading.Condition()
        self._changes = 0
        self._live: dict[str, Run] = {}
        self._finished: dict[str, Run] = {}
        self._attempts: dict[str, list[Attempt]] = {}
        self._logs: dict[str, dict[tuple[int, int], LogLine]] = {}
        self._workers: dict[str, Worker] = {}
        self._services: dict[str, str] = {}
        self._keys: dict[tuple[str, str], tuple[str, datetime | None]] = {}
        self._lanes: dict[int, Lane] = {}
        self._used_at: dict[int, datetime] = {}
        self._starts: dict[int, Starts] = {}
        self._pauses: dict[tuple[str, str | None, str | None], Pause] = {}
        self._jobs: dict[tuple[str, str], Job] = {}
        super().__init__()
        add_parts(self)
        add_flat_parts(self)

    # Making runs

    def add(self, new: Sequence[NewRun]) -> list[Added]:
        with self._lock:
            before = (dict(self._live), dict(self._finished), dict(self._keys))
            events = (dict(self._events), dict(self._event_keys))
            replaced: list[Pair] = []
            try:
                added = [self._add(request, replaced) for request in new]
            except BaseException:
                self._live, self._finished, self._keys = before
                self._events, self._event_keys = events
                raise
        self.publisher.written(replaced)
        self.wake()
        return added

    def _add(self, request: NewRun, ended: list[Pair] | None = None) -> Added:
        run, replaced = request.run, [] if ended is None else ended
        self._lanes.setdefault(run.lane.id, run.lane)
        if run.lane.key is not None:
            self._used_at[run.lane.id] = self.clock.now()
        if request.replace_tag:
            replaced += self._make_room(self.pending_of(tenant=run.tenant, tag=run.tag), run, SAME_TAG)
        if run.key_text is not None:
            holder, until = self._keys.get((run.tenant, run.key_text), (None, None))
            if request.on_duplicate is OnDuplicate.REPLACE and holder is not None:
                held = self._live.get(holder)
                replaced += self._make_room([held] if held and held.status in PENDING else [], run, SAME_KEY)
            elif holder is not None and (until is None or until > run.created_at):
                added = Added(holder, False)
                reject_duplicate(request, added)
                if (held := self._live.get(holder) or self._finished.get(holder)) is not None:
                    refuse_other_request(request, holder, held.job, held.input_text, held.options_text)
                return added
            span = request.key_span
            self._keys[run.tenant, run.key_text] = (run.id, None if span is None else run.created_at + span)
        self._live[run.id] = run
        return Added(run.id, True)

    def _make_room(self, pending: Iterable[Run], new: Run, why: str) -> Sequence[Pair]:
        ended = [(run, state.replace(run, new.created_at, by=new, why=why, keep=self.keep)) for run in pending]
        return self._end(ended)

    def _end(self, ended: Sequence[Pair]) -> Sequence[Pair]:
        """End runs that new ones take the place of."""
        published = self.publisher.publish(ended)
        return [pair for pair in published if self._write(pair[1])]

    def add_on(self, connection: Any, new: Sequence[NewRun]) -> list[Added]:
        raise WrongConnection("connection=: the memory store has no database; use a sqlite:// or postgresql:// URL.")

    async def aadd_on(self, connection: Any, new: Sequence[NewRun]) -> list[Added]:
        return self.add_on(connection, new)

    # Moving runs

    def dispatch(self, now: datetime, limit: int) -> int:
        with self._lock:
            waiting = [run for run in self._live.values() if run.status is Status.SCHEDULED]
            due = sorted((run for run in waiting if run.scheduled_for <= now), key=lambda run: run.scheduled_for)
            return sum(self._write(state.dispatch(run, now)) for run in due[:limit])

    def survey(self, after: int, limit: int) -> list[Head]:
        with self._lock:
            queued = {(run.lane.id, run.rank) for run in self._live.values() if run.status is Status.QUEUED}
            heads = sorted(pair for pair in queued if pair[0] > after and not self._is_paused(self._lanes[pair[0]]))
            return [Head(lane, rank, self._lanes[lane]) for lane, rank in heads[:limit]]

    def survey_tenant(self, tenant: str, limit: int) -> list[Head]:
        best: dict[int, Head] = {}
        for head in self.survey(-1, len(self._live) + 1):
            if head.lane.tenant == tenant:
                best.setdefault(head.lane_id, head)
        return [*best.values()][:limit]

    def claim(
        self,
        picks: Sequence[Pick],
        limit: int,
        *,
        worker: str,
        now: datetime,
        lease_until: datetime,
        limits: Mapping[int, Sequence[Limit]] | None = None,
    ) -> list[Run]:
        with self._lock:
            if not limits:
                claimed = self._take(picks, limit, now, worker, lease_until)
            else:
                moment = max(now, self.clock.now())
                uses = self.limit_uses([one for listed in limits.values() for one in listed])
                allotment = Allotment(limits, uses, moment)
                claimed = allotment.claim(
                    picks,
                    limit,
                    lambda granted, most: self._take(granted, most, moment, worker, lease_until),
                    lambda run: (run.lane.id, run.rank),
                )
                self._starts |= {one.id: starts for one, starts in allotment.new_starts()}
            return sorted(claimed, key=lambda run: (run.rank, run.scheduled_for, run.id))

    def _take(self, picks: Sequence[Pick], limit: int, now: datetime, worker: str, lease_until: datetime) -> list[Run]:
        taken: list[Run] = []
        for pick in picks:
            line = [
                run
                for run in self._live.values()
                if run.status is Status.QUEUED
                and (run.lane.id, run.rank) == (pick.lane_id, pick.rank)
                and (run.expires_at is None or run.expires_at > now or run.attempt)
            ]
            line.sort(key=lambda run: (run.scheduled_for, run.id))
            taken += line[: min(pick.quota, limit - len(taken))]
        claimed = [state.start(run, now, worker=worker, lease_until=lease_until).after(run) for run in taken]
        self._live |= {run.id: run for run in claimed}
        return claimed

    def _held(self, held: Held) -> Run | None:
        run = self._live.get(held.run_id)
        return run if run is not None and run.status is Status.RUNNING and run.token == held.token else None

    def renew(self, held: Sequence[Held], *, now: datetime, lease_until: datetime) -> list[Renewed]:
        with self._lock:
            found = [run for run in map(self._held, held) if run is not None]
            good = [run for run in found if run.lease_until != EPOCH]
            self._live |= {run.id: replace(run, lease_until=lease_until) for run in good}
            return [Renewed(run.id, run.token, run.reason if run.cancel_requested else None) for run in good]

    def take_over(self, leases: Sequence[Lease], limit: int) -> list[Run]:
        with self._lock:
            found = [(self._held(Held(lease.run_id, lease.token)), lease) for lease in leases]
            good = [run for run, lease in found if run is not None and run.lease_until == lease.until][:limit]
            taken = {run.id: replace(run, lease_until=EPOCH) for run in good}
            self._live |= taken
            return list(taken.values())

    def apply(self, transitions: Sequence[Transition]) -> set[str]:
        with self._lock:
            asked = {run.id for run in self._live.values() if run.cancel_requested}
            moved = [change for change in transitions if self._write(change)]
            for change in moved:
                for new in following(change, asked):
                    self._add(new)
            return {change.run_id for change in moved}

    def _write(self, change: Transition) -> bool:
        run = self._live.get(change.run_id)
        if run is None or (run.status, run.token) != (change.expected, change.expected_token):
            return False
        if run.cancel_requested and not change.status.final:
            return False
        after = change.after(run)
        if change.status.final:
            del self._live[run.id]
            self._finished[run.id] = replace(after, alone=False, lease_until=None, suspect=False)
            if run.key_text is not None and self._keys.get((run.tenant, run.key_text)) == (run.id, None):
                del self._keys[run.tenant, run.key_text]
            self._report(after)
        else:
            self._live[run.id] = after
            if change.ended is not None:
                self._attempts.setdefault(run.id, []).append(change.ended)
        for event in change.emits:
            self._add_event(event)
        return True

    def _touch(self, held: Held, **changes: Any) -> bool:
        with self._lock:
            run = self._held(held)
            if run is not None:
                self._live[run.id] = replace(run, **changes)
            return run is not None

    def mark_alone(self, held: Held) -> bool:
        return self._touch(held, alone=True)

    def set_progress(self, held: Held, progress: str) -> bool:
        return self._touch(held, progress_text=progress)

    def request_cancel(self, run_id: str, reason: str) -> bool:
        with self._lock:
            run = self._live.get(run_id)
            if run is None or run.status is not Status.RUNNING:
                return False
            self._live[run_id] = state.ask_cancel(run, reason)
            return True

    def prune(self, now: datetime, limit: int, kinds: Counter[str] | None = None) -> int:
        gone: Counter[str] = Counter()
        with self._lock:
            every = self._finished.values()
            over = [(run.remove_at, run.id) for run in every if run.remove_at and run.remove_at <= now]
            for _, run_id in sorted(over)[:limit]:
                run = self._finished[run_id]
                holder, until = self._keys.get((run.tenant, run.key_text or ""), (None, None))
                if holder == run_id and until is not None and until > now:
                    self._finished[run_id] = replace(run, remove_at=until)
                    continue
                del self._finished[run_id]
                self._attempts.pop(run_id, None)
                self._logs.pop(run_id, None)
            keys = [key for key, (_, until) in self._keys.items() if until is not None and until <= now]
            for key in keys:
                del self._keys[key]
            self._delete_idle_lanes(now)
            gone["ticks"] = self._delete_ticks(now - self.keep.other, limit)
            gone["runs"], gone["keys"] = len(over[:limit]), len(keys)
            gone["events"] = self._delete_events(now - self.keep.events, limit)
            gone["access"] = self._delete_access(now, limit)
            gone["notifications"] = self._delete_notifications(now - self.keep.events, limit)
            gone["tallies"] = self._delete_tallies(now, limit)
        if kinds is not None:
            kinds.update(gone)
        return gone.total()

    # Reading

    def find_runs(self, ids: Iterable[str]) -> dict[str, Run]:
        with self._lock:
            every = self._live | self._finished
            return {run_id: every[run_id] for run_id in ids if run_id in every}

    def list_attempts(self, run_id: str) -> list[Attempt]:
        return list(self._attempts.get(run_id, ()))

    def pending_of(self, *, tenant: str | None = None, tag: str | None = None, accepted: bool = False) -> list[Run]:
        with self._lock:
            return [
                run
                for run in self._live.values()
                if run.status in PENDING
                and (tenant is None or run.tenant == tenant)
                and (run.accepted_by is not None if accepted else run.tag == tag)
            ]

    def held_by(self, worker: str) -> list[Run]:
        with self._lock:
            return [run for run in self._live.values() if run.status is Status.RUNNING and run.worker == worker]

    def leases(self, before: datetime, beyond: datetime | None = None) -> list[Lease]:
        with self._lock:
            every = [
                Lease(run.id, run.token, run.lease_until, run.worker) for run in self._live.values() if run.lease_until
            ]
        return [one for one in every if one.until <= before or (beyond is not None and one.until > beyond)]

    def expired(self, now: datetime, limit: int) -> list[Run]:
        with self._lock:
            unstarted = [run for run in self._live.values() if not run.attempt and run.expires_at is not None]
        return [run for run in unstarted if run.expires_at is not None and run.expires_at <= now][:limit]

    def next_due(self, after: datetime | None = None) -> datetime | None:
        with self._lock:
            times = [run.scheduled_for for run in self._live.values() if run.status is Status.SCHEDULED]
        return min((at for at in times if after is None or at > after), default=None)

    def restart_waits(self, now: datetime) -> bool:
        with self._lock:
            self._live = {run.id: state.restart_wait(run, now) for run in self._live.values()}
        return True

    def ahead_of(self, run: Run) -> int:
        place = (run.rank, run.scheduled_for, run.id)
        with self._lock:
            return sum(
                1
                for other in self._live.values()
                if other.status is Status.QUEUED
                and other.lane == run.lane
                and (other.rank, other.scheduled_for, other.id) < place
            )

    def counts(self) -> list[Counts]:
        with self._lock:
            found = []
            for lane in self._lanes.values():
                runs = [run for run in self._live.values() if run.lane == lane]
                if runs:
                    of = Counter(run.status for run in runs)
                    numbers = (of[Status.SCHEDULED], of[Status.QUEUED], of[Status.RUNNING])
                    since = min((run.scheduled_for for run in runs if run.status is Status.QUEUED), default=None)
                    found.append(Counts(lane, *numbers, self._is_paused(lane), since))
            return found

    # Definitions

    def put_jobs(self, jobs: Sequence[Job]) -> None:
        with self._lock:
            for job in jobs:
                old = self._jobs.get((job.tenant, job.name))
                kept = {} if old is None else {"id": old.id, "created_at": old.created_at}
                self._jobs[job.tenant, job.name] = replace(job, **kept)

    def find_job(self, tenant: str, name: str) -> Job | None:
        return self._jobs.get((tenant, name))

    def list_jobs(self, tenant: str) -> list[Job]:
        return sorted((job for job in self._jobs.values() if job.tenant == tenant), key=lambda job: job.name)

    # Hints and housekeeping

    def watch(self) -> Watch:
        return MemoryWatch(self)

    def wake(self) -> None:
        with self._changed:
            self._changes += 1
            self._changed.notify_all()

    def limit_connections(self, count: int) -> None: ...

    def tidy(self) -> None: ...

    def check(self, *, joining: bool = False) -> None: ...

    def migrate(self) -> list[str]:
        return []

    def measure_time(self) -> None:
        if isinstance(self.clock, SystemClock):
            self.clock.measure(lambda: datetime.now(UTC))

    def describe(self) -> list[tuple[str, str, str]]:
        return [("risk", "memory", "runs are gone when this process ends; use sqlite:/// to keep them.")]

    def export(self) -> Iterable[Batch]:
        with self._lock:
            yield Batch(
                lanes=list(self._lanes.values()),
                pauses=list(self._pauses.values()),
                jobs=list(self._jobs.values()),
                schedules=list(self._schedules.values()),
                ticks=list(self._ticks.values()),
                runs=[*self._live.values(), *self._finished.values()],
                attempts=[attempt for listed in self._attempts.values() for attempt in listed],
                logs=[line for listed in self._logs.values() for line in listed.values()],
                keys=[(tenant, key, run, until) for (tenant, key), (run, until) in self._keys.items()],
                events=list(self._events.values()),
                matches=list(self._matches.values()),
                triggers=list(self._triggers.values()),
                endpoints=list(self._endpoints.values()),
                health=list(self._health.values()),
                tokens=list(self._tokens.values()),
                tenants=list(self._tenants.values()),
                audit=list(self._audit.values()),
                notifications=list(self._notifications.values()),
                reads=[ReadMark(*mark) for mark in self._all_reads()],
                agents=list(self._agents.values()),
                tallies=list(self._tallies.values()),
            )

    def load(self, batch: Batch) -> None:
        with self._lock:
            self._lanes = {lane.id: lane for lane in batch.lanes} | self._lanes
            self._used_at |= {lane.id: self.clock.now() for lane in batch.lanes if lane.key is not None}
            self._pauses = {(pause.tenant, pause.queue, pause.job): pause for pause in batch.pauses} | self._pauses
            self._jobs = {(job.tenant, job.name): job for job in batch.jobs} | self._jobs
            self._schedules = {schedule.id: schedule for schedule in batch.schedules} | self._schedules
            self._ticks = {(tick.schedule, tick.due): tick for tick in batch.ticks} | self._ticks
            for run in batch.runs:
                if run.status.final:
                    self._live.pop(run.id, None)
                    self._finished.setdefault(run.id, run)
                elif run.id not in self._finished:
                    self._live.setdefault(run.id, run)
            for attempt in batch.attempts:
                known = self._attempts.setdefault(attempt.run, [])
                if all(other.number != attempt.number for other in known):
                    known.append(attempt)
            self._keep_lines(batch.logs)
            self._keys = {(tenant, key): (run, until) for tenant, key, run, until in batch.keys} | self._keys
            self._load_events(batch)
            self._load_access(batch)
            self._load_people(batch)
            self._load_agents(batch.agents)
            self._load_tallies(batch.tallies)

    def close(self) -> None: ...


class MemoryWatch:
    """Waits for changes within this process."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._seen = store._changes

    def wait(self, timeout: float) -> bool:
        with self._store._changed:
            changed = self._store._changed.wait_for(lambda: self._store._changes != self._seen, timeout)
            self._seen = self._store._changes
            return changed

    def interrupt(self) -> None:
        self._store.wake()

    def close(self) -> None: ...
