"""Runs in an SQL database: made, claimed, moved by transitions, read. Every verb is one or several whole writes."""

from __future__ import annotations

import builtins
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from functools import partial
from random import randrange

from workbell.errors import StoreUnavailable
from workbell.model.clock import EPOCH
from workbell.model.run import Attempt, Run, Status
from workbell.model.state import MOVES, Move, Transition
from workbell.stores import rows
from workbell.stores.database import Conflict, Database, Rows, Statement, read_rows, write_rows
from workbell.stores.limits.limits import LimitedClaims
from workbell.stores.pending_entry import PENDING, write_action, write_guarded
from workbell.stores.port import MOST_ATTEMPTS, Filter, Head, Held, Lease, LeaseTerms, LimitsOfLanes, Pick, Renewed
from workbell.stores.pruning import Pruned, remove_with_parts
from workbell.stores.reports.search import Search
from workbell.stores.runs.claiming import START, ChosenRuns, claim, claims
from workbell.stores.runs.finding import find_runs
from workbell.stores.runs.head_bounds import HeadBounds
from workbell.stores.runs.lanes import IN_ORDER, Lanes
from workbell.stores.runs.making import Making
from workbell.stores.runs.moving import first_of_each, has_company, moved, moving, possible

DISPATCH = MOVES[Move.DISPATCH]
RUNNING = MOVES[Move.START].targets[0].value
TRIES = 20  # of transitions, where each time others have moved some of the runs
DRAWN_FROM = 5000  # queued runs, at the most twice as many: some of them are sent to a queue again
RESTARTED = 1000  # waits that start again in one write
LEASED = ("id", "token", "status")
SEEN = ("id", "token", "until", "expected")


class StoredRuns:
    """The runs of one database. See `Runs` in the port."""

    def __init__(self, database: Database, lanes: Lanes, limits: LimitedClaims, search: Search, making: Making) -> None:
        self._database = database
        self._lanes = lanes
        self._limits = limits
        self._search = search
        self._bounds = HeadBounds(database)
        self.making = making
        self.add, self.add_on, self.aadd_on = making.add, making.add_on, making.aadd_on

    # Moving

    def dispatch(self, now: datetime, limit: int) -> builtins.list[str]:
        move = {"from_status": DISPATCH.sources[0].value, "to_status": DISPATCH.targets[0].value}
        return [row[0] for row in write_rows(self._database, "dispatch", now=now, limit=limit, **move)]

    def survey(self, after: int, limit: int) -> builtins.list[Head]:
        if self._database.dialect.one_writer:
            (found,) = self._database.read([Statement("survey", {"after": after, "limit": limit})])
            return self._lanes.make_heads(found)
        return self._lanes.make_heads(self._bounds.survey(after, limit))

    def survey_tenant(self, tenant: str, limit: int, targets: Sequence[str] | None = None) -> builtins.list[Head]:
        if targets is None:
            found = read_rows(self._database, "survey_tenant", tenant=tenant, limit=limit)
        elif targets:
            found = read_rows(self._database, "survey_targets", tenant=tenant, targets=list(targets), limit=limit)
        else:
            found = []
        return self._lanes.make_heads(found)

    def claim(
        self, picks: Sequence[Pick], limit: int, terms: LeaseTerms, limits: LimitsOfLanes | None = None
    ) -> builtins.list[Run]:
        if limits:
            claiming = partial(claims, self._database.dialect)
            return self._lanes.make_started(*self._limits.claim(picks, limit, limits, terms, claiming))
        return self._lanes.make_started(claim(self._database, picks, limit, terms), terms)

    def take(
        self,
        ids: Sequence[str],
        terms: LeaseTerms,
        limits: LimitsOfLanes | None = None,
        *,
        lanes: Sequence[int] | None = None,
    ) -> builtins.list[Run]:
        if lanes is not None:  # one statement: nothing need be read to know their limits
            values = terms._asdict() | START | {"ids": sorted(set(ids)), "lanes": lanes}
            return self._lanes.make_started(write_rows(self._database, "take_of_lanes", **values), terms)
        chosen = ChosenRuns(read_rows(self._database, "ready", ids=sorted(set(ids)), now=terms.now))
        picks = chosen.picks()
        if not picks:
            return []
        if limits:
            return self._lanes.make_started(*self._limits.claim(picks, len(ids), limits, terms, chosen.claims))
        (found,) = self._database.write(chosen.claims(picks, len(ids), terms))
        return self._lanes.make_started(found, terms)

    def renew(self, held: Sequence[Held], *, now: datetime, lease_until: datetime) -> builtins.list[Renewed]:
        leases = Rows(LEASED, [(lease.run_id, lease.token, RUNNING) for lease in held])
        values = {"rows": leases, "taken": EPOCH, "lease_until": lease_until}
        (found,) = self._database.write([Statement("renew", values)], first=True)
        return [Renewed(*row) for row in found]

    def take_over(self, leases: Sequence[Lease], limit: int) -> builtins.list[Run]:
        # Where rows may be locked, as many of the others are taken.
        wanted = leases[:limit] if self._database.dialect.one_writer else leases
        seen = Rows(SEEN, [(lease.run_id, lease.token, lease.until, RUNNING) for lease in wanted])
        values = {"taken": EPOCH, "limit": limit}
        return sorted(self._lanes.make_runs(write_rows(self._database, "take_over", rows=seen, **values)), key=IN_ORDER)

    def apply(self, transitions: Sequence[Transition], *, lock: float | None = None) -> set[str]:
        changes = first_of_each(transitions)
        dialect = self._database.dialect
        audited = PENDING.get() is not None
        write = partial(write_action, self._database) if audited else self._database.write
        for _ in range(TRIES):
            if not changes:
                return set()
            batch = moving(dialect, changes, whole=audited or any(map(has_company, changes)))
            following = [new for change in changes for new in change.then]
            lanes = self._lanes.prepare(following) if following else ()
            if lanes:
                batch = [*self._lanes.statements(lanes), *batch]
            try:
                answers = write(batch, first=not dialect.one_writer, lock=lock)
            except Conflict:
                now = read_rows(self._database, "run_guards", ids=[change.run_id for change in changes])
                changes = possible(changes, now)
            else:
                if lanes:
                    self._lanes.note(lanes)
                return moved(changes, zip(batch, answers, strict=True))
        raise StoreUnavailable(f"{len(changes)} runs were moved by others all the time; repeat the call.")

    def mark_alone(self, held: Held) -> bool:
        return bool(write_rows(self._database, "mark_alone", id=held.run_id, token=held.token, yes=True))

    def set_progress(self, held: Held, progress: str) -> bool:
        return bool(write_rows(self._database, "set_progress", id=held.run_id, token=held.token, progress=progress))

    def request_cancel(self, run_id: str, reason: str) -> bool:
        asking = Statement("request_cancel", {"id": run_id, "yes": True, "reason": reason})
        return bool(write_guarded(self._database, asking))

    def asked_to_end(self, ids: Collection[str]) -> set[str]:
        return {row[0] for row in read_rows(self._database, "asked_to_end", ids=list(ids), yes=True)}

    def restart_waits(self, now: datetime) -> bool:
        values = {"now": now, "status": Status.SCHEDULED.value, "limit": RESTARTED}
        while len(write_rows(self._database, "restart_waits", **values)) == RESTARTED:
            pass  # others write between two rounds
        return not read_rows(self._database, "waits_ahead", now=now)

    def prune(self, now: datetime, limit: int) -> tuple[Pruned, int]:
        """Remove finished runs whose time is over, with attempts and logs, and keys; how many there were of each."""
        put_off = 0
        if self._database.dialect.one_writer:  # elsewhere a part of the statement that removes
            put_off = len(write_rows(self._database, "put_off", now=now, limit=limit))
        left = {"now": now, "limit": limit - put_off}
        gone = remove_with_parts(self._database, "delete_finished", ("delete_attempts", "delete_logs"), left)
        keys = len(write_rows(self._database, "drop_keys", now=now, limit=limit))
        self._lanes.prune(now)
        return gone._replace(rows=gone.rows + put_off), keys

    # Reading

    def find(self, ids: Iterable[str]) -> dict[str, Run]:
        return find_runs(self._database, self._lanes, ids)

    def list(self, wanted: Filter) -> builtins.list[Run]:
        return self._search.list(wanted)

    def attempts(self, run_id: str, *, after: int = 0, limit: int = MOST_ATTEMPTS) -> builtins.list[Attempt]:
        found = read_rows(self._database, "attempts", id=run_id, after=after, limit=limit)
        return [rows.attempt_from(row) for row in found]

    def pending(
        self,
        *,
        limit: int,
        accepted_by: str | None = None,
        queued_before: datetime | None = None,
    ) -> builtins.list[Run]:
        if queued_before is not None:
            values = {"time": queued_before, "lane": randrange(2**63), "scan": DRAWN_FROM, "limit": limit}
            return self._lanes.query("queued_before", **values)
        return self._lanes.query("pending_accepted", process=accepted_by, limit=limit)

    def accepting(self) -> builtins.list[str]:
        return [row[0] for row in read_rows(self._database, "accepting")]

    def held_by(self, worker: str) -> builtins.list[Run]:
        return self._lanes.query("held_by", worker=worker)

    def leases_of(self, workers: Collection[str]) -> builtins.list[Lease]:
        return [Lease(*row) for row in read_rows(self._database, "leases_of", workers=list(workers))]

    def leases(self, before: datetime, beyond: datetime | None = None) -> builtins.list[Lease]:
        return [Lease(*row) for row in read_rows(self._database, "leases", before=before, beyond=beyond)]

    def expired(self, now: datetime, limit: int) -> builtins.list[Run]:
        return self._lanes.query("expired", now=now, limit=limit)

    def next_due(self, after: datetime | None = None) -> datetime | None:
        if after is None:
            found = read_rows(self._database, "next_due")
        else:
            found = read_rows(self._database, "next_due_after", after=after)
        return found[0][0] if found else None
