"""What every SQL store does alike: the verbs of the port over a `Session` that runs named queries."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

from workbell.errors import DuplicateRun, StoreUnavailable
from workbell.model.limit import Limit
from workbell.model.retry_run import RetryRun
from workbell.model.run import FINAL, Added, Attempt, Lane, NewRun, Run, Status
from workbell.model.state import MOVES, Keep, Move, Transition
from workbell.stores import rows, sql_copy
from workbell.stores.access.answers import Answers
from workbell.stores.access.audit import AuditLog
from workbell.stores.access.tenants import Tenants
from workbell.stores.access.tokens import Tokens
from workbell.stores.agents.agents import StoredAgents
from workbell.stores.database import Database, Row, Statement
from workbell.stores.flat_parts import add_flat_parts
from workbell.stores.group_commit import GroupCommit
from workbell.stores.jobs.jobs import Jobs
from workbell.stores.logs.logs import Logs
from workbell.stores.notifications.notifications import StoredNotifications
from workbell.stores.pauses.pauses import Pauses
from workbell.stores.port import (
    Batch,
    Counts,
    Events,
    Head,
    Held,
    Lease,
    LimitUses,
    NoPublisher,
    Pair,
    Pick,
    Publisher,
    Renewed,
    Reports,
    Runs,
    Schedules,
)
from workbell.stores.session import Session
from workbell.stores.sql_events import SqlEvents, statements_for_event
from workbell.stores.sql_lanes import SqlLanes
from workbell.stores.sql_limits import SqlLimits
from workbell.stores.sql_recent import SqlRecent
from workbell.stores.sql_schedules import SqlSchedules
from workbell.stores.sql_search import SqlSearch
from workbell.stores.statements import Replacing, following, making
from workbell.stores.subscribers.subscribers import Subscribers
from workbell.stores.tallies.tallies import Tallies
from workbell.stores.times import to_utc
from workbell.stores.workers.services import Services
from workbell.stores.workers.workers import Workers

T = TypeVar("T")

MOVED = (
    "run_id expected expected_token status scheduled_for updated_at attempt failures losses crashes alone worker "
    "lease_until started_at error reason suspect"
).split()
FINISHED = (
    "run_id expected expected_token status failures losses crashes started_at error reason finished_at result_text "
    "remove_at"
).split()
ATTEMPT = "run number status started_at finished_at worker error result".split()


class SqlStore(
    SqlLanes,
    SqlLimits,
    SqlEvents,
    SqlSchedules,
    SqlSearch,
    SqlRecent,
):
    """The shared half of the SQLite and PostgreSQL stores."""

    engine: str
    runs: Runs
    schedules: Schedules
    events: Events
    reports: Reports
    limits: LimitUses

    def __init__(self, database: Database, keep: Keep) -> None:
        self.clock = database.clock
        self.keep = keep
        self.jobs = Jobs(database)
        self.subscribers = Subscribers(database)
        self.logs = Logs(database)
        self.pauses = Pauses(database)
        self.workers = Workers(database)
        self.services = Services(database)
        self.tokens = Tokens(database)
        self.tenants = Tenants(database)
        self.audit = AuditLog(database, keep)
        self.answers = Answers(database)
        self.notifications = StoredNotifications(database, keep)
        self.agents = StoredAgents(database)
        self.tallies = Tallies(database)
        self.publisher: Publisher = NoPublisher()
        SqlLanes.__init__(self)
        SqlLimits.__init__(self)
        SqlEvents.__init__(self)
        self._adds: GroupCommit[NewRun, Added] = GroupCommit(self._write_runs, self._written_runs)
        add_flat_parts(self)

    # What the engines supply

    @abstractmethod
    def read(self, work: Callable[[Session], T]) -> T:
        """Run a function that only reads; it may be called again if the connection was lost."""

    @abstractmethod
    def write(self, work: Callable[[Session], T]) -> T:
        """Run a function in one transaction of its own."""

    @abstractmethod
    def wake(self) -> None: ...

    @abstractmethod
    def _ensure_lanes(self, session: Session, lanes: Iterable[Lane]) -> None: ...

    # Making runs

    def add(self, new: Sequence[NewRun]) -> list[Added]:
        if not new:
            return []
        added = self._submit_runs(new)
        self.wake()
        return added

    def _submit_runs(self, new: Sequence[NewRun]) -> list[Added]:
        """Write the requests of one caller, together with those of others that come at the same moment."""
        return self._adds.submit(new)

    def _write_runs(self, new: Sequence[NewRun]) -> list[Added]:
        unknown = self._unknown_lanes(new)
        added, replaced = self.write(lambda session: self._add(session, new, unknown))
        self.note_lanes(unknown)
        self.publisher.written(replaced)
        return added

    def _written_runs(self, new: Sequence[NewRun]) -> list[Added] | None:
        """What became of requests whose write was interrupted; None if none of them made a run."""
        made = self.find_runs([request.run.id for request in new])
        if not made:
            return None
        return [Added(request.run.id, True) if request.run.id in made else self._duplicate(request) for request in new]

    def _duplicate(self, request: NewRun) -> Added:
        """The answer to a request that made no run, as its key was held."""
        key = {"tenant": request.run.tenant, "key": request.run.key_text}
        held = self.read(lambda session: [row[0] for row in session.rows("key_holder", **key)])
        if not held:
            raise StoreUnavailable(
                f"The write was interrupted, and the run that held the key {request.run.key!r} has ended since; "
                "repeat the call."
            )
        return Added(held[0], False)

    def prepare_lanes(self, new: Sequence[NewRun]) -> Sequence[Lane]:
        return self._unknown_lanes(new) if new else ()

    def _add(self, session: Session, new: Sequence[NewRun], unknown: Sequence[Lane]) -> tuple[list[Added], list[Pair]]:
        """Make runs; for each which one stands for it, and all that were replaced."""
        if unknown:
            self._ensure_lanes(session, unknown)
        replaced: list[Pair] = []
        if any(request.replace_tag for request in new):  # what comes behind one that replaces must not be replaced
            # Tags in one order, so that two writers of the same ones do not wait for each other crosswise.
            for tenant, tag in sorted({(one.run.tenant, one.run.tag or "") for one in new if one.replace_tag}):
                session.execute(Statement("lock_tag", {"tenant": tenant, "tag": tag}))
            return [self._add_one(session, request, replaced) for request in new], replaced
        plain = [request for request in new if request.run.key_text is None]
        if plain:
            session.insert(plain)
        if len(plain) == len(new):
            return [Added(request.run.id, True) for request in new], replaced
        # In the order of their keys, so that two writers of the same ones do not wait for each other crosswise.
        ordered = sorted((request for request in new if request.run.key_text is not None), key=_place)
        keyed: dict[str, Added] = {}
        refused: dict[str, DuplicateRun] = {}
        for request in ordered:
            try:
                keyed[request.run.id] = self._add_one(session, request, replaced)
            except DuplicateRun as error:
                refused[request.run.id] = error
        if refused:  # which one the caller hears of does not depend on our order
            raise next(refused[request.run.id] for request in new if request.run.id in refused)
        return [keyed.get(request.run.id) or Added(request.run.id, True) for request in new], replaced

    def _add_one(self, session: Session, request: NewRun, replaced: list[Pair]) -> Added:
        """A rejected duplicate is raised within the transaction: such a call writes nothing at all. Other callers
        that shared the transaction are written again without it (see GroupCommit)."""
        making_it = making(request, self.replacing, replaced)
        try:
            statement = next(making_it)
            while True:
                statement = making_it.send(session.execute(statement))
        except StopIteration as made:
            added: Added = made.value
            return added

    @property
    def replacing(self) -> Replacing:
        return Replacing(self.keep, self.make_run, self.publisher.publish, statements_for_event)

    # Moving runs

    def dispatch(self, now: datetime, limit: int) -> int:
        rule = MOVES[Move.DISPATCH]
        moved = self.write(
            lambda session: session.rows(
                "dispatch", now=now, limit=limit, from_status=rule.sources[0].value, to_status=rule.targets[0].value
            )
        )
        return len(moved)

    def survey(self, after: int, limit: int) -> list[Head]:
        found = self.read(lambda session: session.rows("survey", after=after, limit=limit))
        return [Head(row[0], row[1], self._lane(row[0], row[2:])) for row in found]

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
        if limits:
            return self.claim_limited(picks, limit, limits, worker=worker, now=now, lease_until=lease_until)
        return self._claimed(self._write_claim(lambda s: self._claim(s, picks, limit, worker, now, lease_until)))

    def _write_claim(self, work: Callable[[Session], list[Row]]) -> list[Row]:
        return self.write(work)

    def _claimed(self, found: Sequence[Row]) -> list[Run]:
        """Rows as runs, in order. Made here, after the commit: nobody need wait for that with a lock held."""
        lanes: Mapping[int, Lane] = self.lanes
        if any(row[1] not in lanes for row in found):
            lanes = self.read(lambda session: self.lanes_for(session, {row[1] for row in found}))
        runs = [self.make_run(row, lanes) for row in found]
        return sorted(runs, key=lambda run: (run.rank, run.scheduled_for, run.id))

    @abstractmethod
    def make_run(self, row: Row, lanes: Mapping[int, Lane]) -> Run: ...

    @abstractmethod
    def spell(self, columns: Sequence[str], values: Sequence[Sequence[Any]]) -> dict[str, Any]:
        """Many rows of input as the parameters of one statement."""

    @abstractmethod
    def _claim(
        self, session: Session, picks: Sequence[Pick], limit: int, worker: str, now: datetime, lease_until: datetime
    ) -> list[Row]: ...

    def renew(self, held: Sequence[Held], *, now: datetime, lease_until: datetime) -> list[Renewed]:
        return self.write(lambda session: self._renew(session, held, now, lease_until))

    @abstractmethod
    def _renew(self, session: Session, held: Sequence[Held], now: datetime, lease_until: datetime) -> list[Renewed]: ...

    def take_over(self, leases: Sequence[Lease], limit: int) -> list[Run]:
        return self._claimed(self._write_claim(lambda session: self._take_over(session, leases, limit)))

    @abstractmethod
    def _take_over(self, session: Session, leases: Sequence[Lease], limit: int) -> list[Row]: ...

    def apply(self, transitions: Sequence[Transition]) -> set[str]:
        if not transitions:
            return set()
        # Spelled out before the transaction: nobody need wait for that with a lock held.
        ordered, spelled = self._ordered(transitions)
        return self._write_moves(lambda session: self._apply(session, ordered, spelled))

    def _write_moves(self, work: Callable[[Session], set[str]]) -> set[str]:
        return self.write(work)

    def apply_in(self, session: Session, transitions: Sequence[Transition]) -> set[str]:
        return self._apply(session, *self._ordered(transitions)) if transitions else set()

    def _ordered(self, transitions: Sequence[Transition]) -> tuple[Sequence[Transition], dict[str, Any]]:
        """In the order of ids, so that two writers of the same runs do not lock them crosswise."""
        ordered = sorted(_first_of_each(transitions), key=lambda transition: transition.run_id)
        ending = [change for change in ordered if change.status.final]
        return ordered, self.spell_ending(ending) if ending else {}

    def spell_ending(self, ending: Sequence[Transition]) -> dict[str, Any]:
        """Transitions into history as the parameters of `finish`."""
        return self.spell(FINISHED, [_values(change, FINISHED) for change in ending])

    def _apply(self, session: Session, ordered: Sequence[Transition], ending: dict[str, Any]) -> set[str]:
        moved: set[tuple[str, int]] = set()
        chains = [c.run_id for c in ordered if c.then and any(new.run.rescheduled_from for new in c.then)]
        asked = {row[0] for row in session.rows("asked_to_end", ids=chains) if row[1]} if chains else set()
        if ending:
            gone = session.finish(ending)
            moved |= {(row[0], row[1]) for row in gone}
            self._free_keys(session, [row for row in gone if row[2] is not None])
            if any(row[4] is not None for row in gone):
                self.report(session, gone, {change.run_id: change.finished_at for change in ordered})
        going_on = [change for change in ordered if not change.status.final]
        if going_on:
            went_on = session.rows("move", **self.spell(MOVED, [_values(change, MOVED) for change in going_on]))
            moved |= {(row[0], row[1]) for row in went_on}
        ended = [c.ended for c in going_on if c.ended is not None and (c.run_id, c.expected_token) in moved]
        if ended:
            records = [[rows.attempt_values(attempt)[name] for name in ATTEMPT] for attempt in ended]
            session.rows("add_attempts", **self.spell(ATTEMPT, records))
        follow = [
            new for c in ordered if c.then and (c.run_id, c.expected_token) in moved for new in following(c, asked)
        ]
        if follow:
            self._add(session, follow, list({request.run.lane for request in follow}))
        told = [event for c in ordered if c.emits and (c.run_id, c.expected_token) in moved for event in c.emits]
        if told:
            self.tell_in(session, told)
        return {run_id for run_id, _ in moved}

    def _free_keys(self, session: Session, keyed: Sequence[Row]) -> None:
        if not keyed:
            return
        lanes = self.lanes_for(session, {row[3] for row in keyed})
        held = [(lanes[row[3]].tenant, row[2], row[0]) for row in keyed]
        session.rows("free_keys", **self.spell(("tenant", "key", "run"), held))

    def mark_alone(self, held: Held) -> bool:
        return self._touch("mark_alone", id=held.run_id, token=held.token, yes=True)

    def set_progress(self, held: Held, progress: str) -> bool:
        return self._touch("set_progress", id=held.run_id, token=held.token, progress=progress)

    def request_cancel(self, run_id: str, reason: str) -> bool:
        return self._touch("request_cancel", id=run_id, yes=True, reason=reason)

    def _touch(self, name: str, **values: Any) -> bool:
        return bool(self.write(lambda session: session.rows(name, **values)))

    def prune(self, now: datetime, limit: int, kinds: Counter[str] | None = None) -> int:
        def work(session: Session) -> Counter[str]:
            gone: Counter[str] = Counter()
            gone["ticks"] = len(session.rows("delete_ticks", before=now - self.keep.other, limit=limit))
            gone["runs"] = self._delete_finished(session, now, limit)
            gone["keys"] = len(session.rows("drop_keys", now=now))
            gone["events"] = self.delete_events_in(session, now - self.keep.events, limit)
            self.delete_idle_lanes(session, now)
            self.delete_idle_limits(session, now)
            return gone

        gone = self.write(work)
        gone["access"] = sum(part.prune(now, limit) for part in (self.tokens, self.audit, self.answers))
        gone["notifications"] = self.notifications.prune(now, limit)
        gone["tallies"] = self.tallies.prune(now, limit)
        if kinds is not None:
            kinds.update(gone)
        return gone.total()

    def _delete_finished(self, session: Session, now: datetime, limit: int) -> int:
        return len(session.rows("delete_finished", now=now, limit=limit))

    # Reading

    def _runs(self, session: Session, found: Iterable[Row]) -> list[Run]:
        found = list(found)
        lanes = self.lanes_for(session, {row[1] for row in found})
        return [self.make_run(row, lanes) for row in found]

    def query(self, name: str, **values: Any) -> list[Run]:
        return self.read(lambda session: self._runs(session, session.rows(name, **values)))

    def find_runs(self, ids: Iterable[str]) -> dict[str, Run]:
        wanted = list(ids)
        # Live first: a run that ends between the two reads is then found in history; the other way round it
        # would be missed.
        found = self.query("find_live", ids=wanted) + self.query("find_finished", ids=wanted)
        return {run.id: run for run in found}

    def find_retries(self, ids: Iterable[str]) -> dict[str, RetryRun]:
        wanted = list(ids)
        if not wanted:
            return {}
        # Live first, as above. The newest one counts, and its ids say which that is.
        found = self.read(lambda session: [*session.rows("live_retries", ids=wanted)])
        found += self.read(lambda session: [*session.rows("finished_retries", ids=wanted)])
        return {
            row[0]: RetryRun(row[1], Status(row[2]), row[3].astimezone(UTC), row[4])
            for row in sorted(found, key=lambda row: (row[1], row[2] in FINAL))
        }

    def look(self, work: Callable[[Session], T]) -> T:
        return self.read(work)

    def list_attempts(self, run_id: str) -> list[Attempt]:
        return self.read(lambda session: [rows.attempt_from(row) for row in session.rows("attempts", id=run_id)])

    def pending_of(self, *, tenant: str | None = None, tag: str | None = None, accepted: bool = False) -> list[Run]:
        found = self.query("pending_accepted") if accepted else self.query("pending_of_tag", tag=tag)
        return [run for run in found if tenant is None or run.tenant == tenant]

    def held_by(self, worker: str) -> list[Run]:
        return self.query("held_by", worker=worker)

    def leases(self, before: datetime, beyond: datetime | None = None) -> list[Lease]:
        found = self.read(lambda session: session.rows("leases", before=before, beyond=beyond))
        return [Lease(*row) for row in found]

    def expired(self, now: datetime, limit: int) -> list[Run]:
        return self.query("expired", now=now, limit=limit)

    def next_due(self, after: datetime | None = None) -> datetime | None:
        if after is None:
            found = self.read(lambda session: session.rows("next_due"))
        else:
            found = self.read(lambda session: session.rows("next_due_after", after=after))
        return found[0][0] if found else None

    def restart_waits(self, now: datetime) -> bool:
        self.write(lambda session: session.rows("restart_waits", now=now, status=Status.SCHEDULED.value))
        return not self.read(lambda session: session.rows("waits_ahead", now=now))

    def ahead_of(self, run: Run) -> int:
        values = {"lane": run.lane.id, "rank": run.rank, "scheduled_for": run.scheduled_for, "id": run.id}
        found = self.read(lambda session: session.rows("ahead_of", **values))
        return int(found[0][0])

    def counts(self) -> list[Counts]:
        pauses = self.pauses.list()

        def work(session: Session) -> list[Counts]:
            numbers: dict[int, dict[str, int]] = {}
            due_since: dict[int, datetime | None] = {}
            for lane, status, count, since in session.rows("counts"):
                numbers.setdefault(lane, {})[status] = count
                if status == Status.QUEUED.value:
                    due_since[lane] = to_utc(since)
            lanes = self.lanes_for(session, numbers)
            return [
                Counts(
                    lanes[lane_id],
                    of.get("scheduled", 0),
                    of.get("queued", 0),
                    of.get("running", 0),
                    any(pause.covers(lanes[lane_id]) for pause in pauses),
                    due_since.get(lane_id),
                )
                for lane_id, of in numbers.items()
            ]

        return self.read(work)

    # Copying

    def export(self) -> Iterable[Batch]:
        yield from sql_copy.export(self)

    def load(self, batch: Batch) -> None:
        now = self.clock.now()

        def work(session: Session) -> None:
            sql_copy.load(session, batch, now)
            for statement in sql_copy.loading(self, batch):
                session.execute(statement)

        self.write(work)


def _place(request: NewRun) -> tuple[str, str]:
    return request.run.tenant, request.run.key_text or ""


def _first_of_each(transitions: Sequence[Transition]) -> Iterable[Transition]:
    """Of several transitions under one guard the first counts: a batch may bring the same one twice."""
    if len({change.run_id for change in transitions}) == len(transitions):
        return transitions
    first: dict[tuple[str, str, int], Transition] = {}
    for change in transitions:
        first.setdefault((change.run_id, change.expected, change.expected_token), change)
    return first.values()


def _values(change: Transition, names: Sequence[str]) -> list[Any]:
    return [getattr(change, name) for name in names]
