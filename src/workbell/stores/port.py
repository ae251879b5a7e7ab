"""The store port: what a store must do. Every verb is atomic; none needs an open transaction between two calls.

Decisions are made outside, on values that were read before; a store writes them under guards (status and lease
token) and says which ones really happened. So a store needs no rules of its own, and one without interactive
transactions can be built. Verbs are synchronous; async callers come in on threads.
"""

from __future__ import annotations

import builtins
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from workbell.model.ids import new_lease_token
from workbell.model.limit import Limit, Use
from workbell.model.run import Added, Attempt, Lane, NewRun, Run
from workbell.model.run_filter import Filter as Filter

if TYPE_CHECKING:
    from workbell.model.clock import Clock
    from workbell.model.ended_run import EndedRun
    from workbell.model.event import EmitKey, Event, FannedOut, Match, Rematch
    from workbell.model.job import Job
    from workbell.model.retry_run import RetryRun
    from workbell.model.rewind import StorePosition
    from workbell.model.run_page import Counted
    from workbell.model.schedule import DueSchedule, Schedule, ScheduleChange, Tick
    from workbell.model.state import Transition
    from workbell.stores.access.answers import Answers
    from workbell.stores.access.audit import AuditLog
    from workbell.stores.access.tenants import StoredTenants
    from workbell.stores.access.tokens import StoredTokens
    from workbell.stores.agents.agents import StoredAgents
    from workbell.stores.jobs.definitions import StoredDefinitions
    from workbell.stores.logs.logs import Logs
    from workbell.stores.notifications.notifications import StoredNotifications
    from workbell.stores.pauses.pauses import StoredPauses
    from workbell.stores.publisher import Publisher
    from workbell.stores.store_page import StorePage
    from workbell.stores.subscribers.subscribers import Subscribers
    from workbell.stores.tallies.tallies import StoredTallies
    from workbell.stores.workers.rewinds import StoredRewinds
    from workbell.stores.workers.services import Services
    from workbell.stores.workers.workers import StoredWorkers

SCAN = 20_000  # runs that one search reads where no index leads to the wanted ones
MOST_COUNTED = 10_000
MOST_ATTEMPTS = 1000  # of a run, in one answer; each may have an error of 16 KiB


class Head(NamedTuple):
    """A lane that has queued runs of a rank: a candidate for a claim."""

    lane_id: int
    rank: int
    lane: Lane
    since: datetime | None = None  # no run of it before this time is to be claimed: see stores/runs/head_bounds.py


class Pick(NamedTuple):
    """How many runs a claim may take from the head of a lane and rank."""

    lane_id: int
    rank: int
    quota: int
    since: datetime | None = None


class LeaseTerms(NamedTuple):
    """Terms of the leases of one claim: the worker, the time of the claim, the end of the leases, and their token.

    The runs of one claim share the token: a guard names the run too. Every claim has terms of its own, so that a run
    that is claimed, handed back and claimed again gets another token.
    """

    worker: str
    now: datetime
    lease_until: datetime
    token: int

    @classmethod
    def drawn(cls, worker: str, now: datetime, lease_until: datetime) -> LeaseTerms:
        """Terms with a new token."""
        return cls(worker, now, lease_until, new_lease_token())


LimitsOfLanes = Mapping[int, Sequence[Limit]]  # by the ids of lanes


class Held(NamedTuple):
    """A lease as its holder knows it."""

    run_id: str
    token: int


class Lease(NamedTuple):
    """A lease as other processes see it: run, token, end and holder."""

    run_id: str
    token: int
    until: datetime
    worker: str | None = None


class Renewed(NamedTuple):
    """A renewed lease; with the reason, if a cancel was requested meanwhile."""

    run_id: str
    token: int
    cancel_reason: str | None = None
    locked: bool = False  # by another transaction: the lease is still valid, but could not be extended


class LaneLoad(NamedTuple):
    """Queued and running runs of a lane, each counted to a limit, and since when the first that waits has been due."""

    lane: Lane
    queued: int
    running: int
    due_since: datetime | None
    held: bool  # paused, or of a definition that is disabled


class FoundRuns(NamedTuple):
    """Runs, newest first, and the id up to which the search went; None: there is nothing beyond."""

    runs: list[Run]
    searched_to: str | None


class Counts(NamedTuple):
    """Live runs of a lane, by status; and since when the one that has been due for longest is waiting."""

    lane: Lane
    scheduled: int
    queued: int
    running: int
    paused: bool
    due_since: datetime | None = None  # of those that are queued
    capped: tuple[str, ...] = ()  # statuses of which there may be more, which were not counted
    disabled: bool = False  # the definition

    @property
    def held(self) -> bool:
        """Whether its runs wait because somebody wants them to."""
        return self.paused or self.disabled


class StoreWatch(Protocol):
    """Watch for hints that something changed in the store. A hint may be missed: every user also polls."""

    def wait(self, timeout: float) -> bool:
        """Block until a hint or the timeout; say whether there was a hint."""

    def interrupt(self) -> None:
        """End a `wait` in another thread at once."""

    def close(self) -> None: ...


class RunsPort(Protocol):
    """Runs: made, claimed, moved by transitions, read."""

    def add(self, new: Sequence[NewRun], *, hint: bool = True) -> builtins.list[Added]:
        """Make runs, deduplicating by key; durable when it returns. Concurrent callers share a commit.

        With the hint of `wake`, unless the caller announces them by itself. Raises KeyReused, and makes none, if the
        key of an HTTP request (`once`) is held by a run of another request, or another request has made a run of a
        `chosen` id. The run that the same request has made before is its answer.
        """

    def add_on(self, connection: Any, new: Sequence[NewRun]) -> builtins.list[Added]:
        """The same inside the caller's own transaction: the runs exist if and when that commits."""

    async def aadd_on(self, connection: Any, new: Sequence[NewRun]) -> builtins.list[Added]: ...

    def dispatch(self, now: datetime, limit: int) -> builtins.list[str]:
        """Queue the runs whose time has come (the move `dispatch`, for a whole set); their ids."""

    def survey(self, after: int, limit: int) -> builtins.list[Head]:
        """Lanes beyond `after`, in order of their ids, that have queued runs and are not paused."""

    def survey_tenant(self, tenant: str, limit: int, targets: Sequence[str] | None = None) -> builtins.list[Head]:
        """Some lanes of a tenant that have queued runs and are not paused, each with its best rank.

        With `targets`: those that are aimed at one of these, with each of their ranks, the best first.
        """

    def claim(
        self, picks: Sequence[Pick], limit: int, terms: LeaseTerms, limits: LimitsOfLanes | None = None
    ) -> builtins.list[Run]:
        """The move `start` for the heads of these lanes, each under a new token; in the order to be worked on.

        `limits` are those of lanes, by their ids: then no more is taken than they leave, whatever else is claimed.
        """

    def take(
        self,
        ids: Sequence[str],
        terms: LeaseTerms,
        limits: LimitsOfLanes | None = None,
        *,
        lanes: Sequence[int] | None = None,
    ) -> builtins.list[Run]:
        """The same for chosen runs, wherever they wait in their lanes: for queue adapters whose messages name a run.

        Pauses and limits hold as in a claim, fairness does not. A run that is not queued, has expired, or that another
        process is about to claim is left out. With `lanes`, and so is one of another lane; these have no limits.
        """

    def renew(self, held: Sequence[Held], *, now: datetime, lease_until: datetime) -> builtins.list[Renewed]:
        """Extend leases that were not taken over, even late; a lease that is not in the answer is lost for good."""

    def take_over(self, leases: Sequence[Lease], limit: int) -> builtins.list[Run]:
        """Mark leases as ended (`lease_until` is the epoch), each if it is still as it was seen; their runs, up to
        `limit`. They cannot be renewed any more, and the caller must move them. Locked rows are left out."""

    def apply(self, transitions: Sequence[Transition], *, lock: float | None = None) -> set[str]:
        """Write transitions, each under its guard; the ids of the runs that really moved.

        `lock`: for how many seconds to wait for what an open transaction of the application holds, instead of the usual
        time; then Locked is raised, and nothing was written. A store that knows no such transactions ignores it.
        """

    def mark_alone(self, held: Held) -> bool:
        """Note that a run is about to be executed with nothing beside it in its worker."""

    def set_progress(self, held: Held, progress: str) -> bool: ...

    def request_cancel(self, run_id: str, reason: str) -> bool:
        """Request a cancel of a running run; its worker learns of it at the next renewal, or by `asked_to_end`."""

    def asked_to_end(self, ids: Collection[str]) -> set[str]:
        """Those of these runs for which a cancel was requested."""

    def find(self, ids: Iterable[str]) -> dict[str, Run]: ...

    def list(self, wanted: Filter) -> builtins.list[Run]:
        """By all words of a filter but the fields of inputs, and whether they were retried."""

    def attempts(self, run_id: str, *, after: int = 0, limit: int = MOST_ATTEMPTS) -> builtins.list[Attempt]:
        """The ended attempts of a run, stored apart from it, oldest first: up to `limit`, beyond number `after`."""

    def pending(
        self,
        *,
        limit: int,
        accepted_by: str | None = None,
        queued_before: datetime | None = None,
    ) -> builtins.list[Run]:
        """Up to `limit` runs not started yet: those that live only as long as a process (their input may be missing),
        or those queued since before a time, for workers (no target), in lanes that are not paused.

        The latter are without those of disabled definitions. Of more it is any: the same ones must not be in the way of
        the others each time.
        """

    def accepting(self) -> builtins.list[str]:
        """Processes that have accepted runs which live only as long as they do."""

    def held_by(self, worker: str) -> builtins.list[Run]:
        """Running runs that this worker holds according to the store."""

    def leases_of(self, workers: Collection[str]) -> builtins.list[Lease]:
        """Their leases alone: inputs may be large."""

    def leases(self, before: datetime, beyond: datetime | None = None) -> builtins.list[Lease]:
        """Leases that end until `before`, and those that end later than `beyond`."""

    def expired(self, now: datetime, limit: int) -> builtins.list[Run]:
        """Waiting runs that have expired, to be ended now; without those that are locked."""

    def next_due(self, after: datetime | None = None) -> datetime | None:
        """When the earliest scheduled run is due; of those that are due later than `after`, if that is given."""

    def restart_waits(self, now: datetime) -> bool:
        """After the clock was put back: `state.restart_wait` for all runs. False: some are locked; try them again."""


class SchedulesPort(Protocol):
    """Schedules and the ledger of their ticks."""

    def prepare(self, changes: Sequence[ScheduleChange]) -> Sequence[ScheduleChange]:
        """The same changes with parameters bound, for a write that must be quick."""

    def write(self, changes: Sequence[ScheduleChange]) -> set[str]:
        """Write changes, each under its guard, with its ticks and runs; the ids of the schedules really changed."""

    def delete(self, schedule_id: str, expected: int | None = None) -> bool:
        """Remove a schedule, with `expected` only that version; its ticks and runs stay for their retention."""

    def due(self, now: datetime, limit: int, passed_over: Sequence[tuple[str, int]] = ()) -> builtins.list[DueSchedule]:
        """Schedules that the scheduler must check now, the most overdue first.

        Without those that are passed over, each given by its id and version: a later version is found.
        """

    def next_check(self, after: datetime | None = None) -> datetime | None:
        """When the scheduler must check a schedule next; later than `after`, if that is given."""

    def find(self, tenant: str, names: Sequence[str]) -> dict[str, Schedule]: ...

    def get(self, schedule_id: str) -> Schedule | None:
        """A schedule by its id, as its runs refer to it."""

    def list(self, tenant: str, *, source: str | None, after: str, limit: int) -> builtins.list[Schedule]:
        """Schedules by name, from beyond `after`; of one source, or of all."""

    def ticks(self, schedule_id: str, *, before: datetime, limit: int) -> builtins.list[Tick]:
        """The fire ledger of a schedule, newest first."""


class JobsPort(Protocol):
    """Jobs: those that code declares, for other processes to read, and definitions, which are data."""

    def put(self, jobs: Sequence[Job]) -> None:
        """Make jobs of code known, or change what is known of them; the id and the time of making stay.

        A definition of the same name becomes a job of code.
        """

    def find(self, tenant: str, name: str) -> Job | None: ...

    def list(self, tenant: str) -> builtins.list[Job]:
        """The jobs of a tenant, by name: those of code, and definitions."""


class EventsPort(Protocol):
    """Events, and what they matched."""

    def add(self, new: Sequence[Event], once: EmitKey | None = None) -> builtins.list[Added]:
        """Store facts, deduplicating by source and key; durable when it returns. Concurrent callers share a commit.

        With the Idempotency-Key of an HTTP request: raises KeyReused, and stores nothing, if it has other events.
        """

    def add_on(self, connection: Any, event: Event) -> Added:
        """The same inside the caller's own transaction: the event exists if and when that commits."""

    async def aadd_on(self, connection: Any, event: Event) -> Added: ...

    def waiting(self, limit: int) -> builtins.list[Event]:
        """Events that have not been fanned out, oldest first; without their data."""

    def fan_out(self, fanned: Sequence[FannedOut], now: datetime) -> set[str]:
        """Write all that follows from events, each if nobody has; the ids of the events of which that is so."""

    def rematch(self, matched: Sequence[Rematch]) -> set[str]:
        """Make runs for events that were fanned out before, each replacing the run before it in the ledger, if
        that is still there; the ids of the runs that were made. Without a request only the ledger changes."""

    def find(self, ids: Iterable[str]) -> dict[str, Event]: ...

    def list(self, tenant: str, *, type: str | None, before: str | None, limit: int) -> builtins.list[Event]:  # noqa: A002
        """Events of a tenant, newest first; of one type, or of all."""

    def matches(self, event: str, *, after: str | None, limit: int) -> builtins.list[Match]:
        """Matches of an event, by subscriber."""

    def matches_of_subscriber(self, subscriber: str, *, before: str | None, limit: int) -> builtins.list[Match]:
        """Matches of a trigger or endpoint, the newest event first."""


class ReportsPort(Protocol):
    """Reports about runs and schedules, for people; no promise depends on them."""

    def search(self, wanted: Filter, scan: int = SCAN) -> FoundRuns:
        """Runs by a whole filter, in bounded time: where no index leads to them, no more than `scan` runs are read.

        So there may be fewer than `limit`, or none, and yet more to find: continue `before` the id `searched_to`.
        """

    def count(self, wanted: Filter, most: int = MOST_COUNTED, scan: int = SCAN) -> Counted:
        """The same, only how many: counted up to `most`."""

    def recent(self, tenant: str, jobs: Sequence[str], most: int) -> dict[str, builtins.list[EndedRun]]:
        """The newest finished runs of each of these jobs, newest first by when they were made, without inputs."""

    def counts(self, tenant: str | None = None) -> builtins.list[Counts]:
        """Live runs of a tenant, or of all tenants, by lane and status, counted to a limit; which lanes are paused."""

    def load(self, tenant: str, queues: Sequence[str] | None, most: int) -> builtins.list[LaneLoad]:
        """Counts of queued and running runs by lane, of these queues or of all, up to `most`; not those of agents."""

    def ahead_of(self, run: Run) -> int:
        """How many queued runs of the same lane come before this one (counted up to 1,000)."""

    def running_beside(self, run: Run) -> int:
        """Number of running runs in the lane of this one."""

    def retries(self, ids: Iterable[str]) -> dict[str, RetryRun]:
        """The newest retry of each of these runs, if it has one that still exists."""

    def upcoming(self, tenant: str, limit: int) -> builtins.list[Schedule]:
        """Those that are neither switched off nor paused, by when their next run is due."""

    def broken(self, limit: int) -> builtins.list[Schedule]:
        """Schedules of all tenants that cannot be read, or that the scheduler failed with at its last check."""

    def unreadable_runs(self) -> builtins.list[Run]:
        """Live runs of all tenants that cannot be read as they are stored, among the first 10,000 by age."""

    def waiting_targets(self, among: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
        """Those of these tenants and targets that have queued runs: one read serves all agents that wait."""


class LimitUses(Protocol):
    """Use of limits."""

    def uses(self, limits: Sequence[Limit]) -> dict[int, Use]:
        """How much of these limits is taken, by their ids; it may be more in the next moment."""


def newest_attempts(store: CoreStore, run: Run) -> list[Attempt]:
    """The last 1,000 ended attempts of a run: their numbers are those up to its `attempt`."""
    return store.runs.attempts(run.id, after=max(run.attempt - MOST_ATTEMPTS, 0), limit=MOST_ATTEMPTS)


class CoreStore(Protocol):
    """The core of the port: all that a store without SQL must write; `workbell.testing.contracts.core` is its test."""

    publisher: Publisher  # gets the runs that the store ends by itself

    @property
    def runs(self) -> RunsPort: ...

    @property
    def schedules(self) -> SchedulesPort: ...

    @property
    def jobs(self) -> JobsPort: ...

    @property
    def clock(self) -> Clock: ...

    def prune(self, now: datetime, limit: int, kinds: Counter[str] | None = None) -> int:
        """Remove finished runs with all that belongs to them, ticks, keys and all else past its retention; how many.

        At least `limit` means that there may be more. How many there were of each kind is added to `kinds`.

        A run that still holds a key stays until the key expires, and counts once when it is postponed.
        """

    @property
    def hints(self) -> bool:
        """Whether a watch is told that another process wrote; else whoever waits finds it at the next poll."""

    def watch(self) -> StoreWatch: ...

    def wake(self) -> None:
        """Give the hint that something changed, to every process that watches."""

    def limit_connections(self, count: int) -> None:
        """Limit the number of connections from now on, where the store is a server."""

    def tidy(self) -> None:
        """A short regular upkeep, such as a checkpoint; called about every ten seconds."""

    def check(self, *, joining: bool = False) -> None:
        """Raise SchemaMismatch or StoreUnavailable if this store cannot be worked with.

        `joining` a caller's transaction, whose locks are waited for in vain: raise where tables cannot be made now.
        """

    def identity(self) -> str:
        """Id of this store, made with it: the same in every process, and no other store has it."""

    def migrate(self) -> list[str]:
        """Bring the schema up to date; the names of the migrations that ran."""

    def describe(self) -> list[tuple[str, str, str]]:
        """Findings for `doctor`: level (ok, note, risk), what, and a sentence."""

    def measure_time(self) -> None:
        """Set the clock to the store's time."""

    def position(self) -> StorePosition | None:
        """Where the store is, to notice that it went back; none where it cannot tell."""

    def close(self) -> None: ...


class Store(CoreStore, Protocol):
    """The contract of a store: the core, and the parts that are written once for all SQL databases.

    A store that does not bring them gets those of `workbell.stores.missing_parts`, which say what a feature needs.
    """

    @property
    def events(self) -> EventsPort: ...

    @property
    def reports(self) -> ReportsPort: ...

    @property
    def subscribers(self) -> Subscribers: ...
    @property
    def definitions(self) -> StoredDefinitions: ...

    @property
    def logs(self) -> Logs: ...

    @property
    def pauses(self) -> StoredPauses: ...

    @property
    def workers(self) -> StoredWorkers: ...

    @property
    def services(self) -> Services: ...

    @property
    def rewinds(self) -> StoredRewinds: ...

    @property
    def tokens(self) -> StoredTokens: ...

    @property
    def tenants(self) -> StoredTenants: ...

    @property
    def audit(self) -> AuditLog: ...

    @property
    def answers(self) -> Answers: ...

    @property
    def notifications(self) -> StoredNotifications: ...

    @property
    def agents(self) -> StoredAgents: ...

    @property
    def tallies(self) -> StoredTallies: ...

    @property
    def limits(self) -> LimitUses: ...

    def export(self) -> Iterable[StorePage]:
        """Everything, in pages that fit in memory."""

    def load(self, page: StorePage) -> None:
        """Take over a page of another store's content; what is there already stays as it is."""
