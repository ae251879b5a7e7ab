"""Claims under limits, for every SQL store: free room is read, allotted, and taken in a guarded write.

Where no rate counts, the room that the caller has seen will do, and nothing is read first.

The write holds the row of each limit, so that others cannot claim under it. It counts again what is running, and
compares the starts with what was read: if another claim took room meanwhile, nothing is written, and all is
read again. Nothing but the runs themselves is counted, so nothing can be left over from a process that died.

A limit whose row another claim has locked counts as full: waiting for it could mean waiting for a frozen process, and
everything else would wait too.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from workbell.model.limit import MOST_RUNNING, Limit, Use
from workbell.stores.allotment import LaneRank, allot
from workbell.stores.database import Batch, Conflict, Database, Row, Statement, read_rows, write_rows
from workbell.stores.limits import statements
from workbell.stores.limits.statements import NO_STARTS
from workbell.stores.port import LeaseTerms, LimitsOfLanes, Pick
from workbell.stores.runs.claiming import Claiming

LIMIT_RETENTION = timedelta(days=2)  # longer than the longest span of a rate
PAGE = 1000
GUARDS = 10  # statements of a claim beside those that claim, at most
# Seconds until a claim that met others under the same limits is tried again. A claim takes a few milliseconds; a limit
# that is locked for longer is left to the next poll.
AGAIN = (0.002, 0.004, 0.008, 0.016)


class SeenLimits(NamedTuple):
    """State of limits and lanes that was read before a claim."""

    limits: LimitsOfLanes  # of lanes none of whose limits is locked by another claim
    starts: Mapping[int, str]  # as stored
    uses: Mapping[int, Use]
    queued: Mapping[LaneRank, int]
    started: Mapping[int, int]  # by limit: runs that this worker started at this very moment, in another claim


class LimitedClaims:
    """Use of limits, and claims under them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._checked_to = -1

    def uses(self, limits: Sequence[Limit]) -> dict[int, Use]:
        """How much of these limits is taken, by their ids; it may have grown when this returns."""
        every = {limit.id: limit for limit in limits}
        timed = [limit.id for limit in every.values() if limit.rate is not None]
        batch = [Statement("limit_starts", {"ids": timed})] if timed else []
        found = self._read([*batch, *statements.running(dict.fromkeys(every.values(), MOST_RUNNING))])
        return statements.uses(every, _by_id(found.get("limit_starts")), _by_id(found.get("running_within")))

    def claim(
        self, picks: Sequence[Pick], limit: int, limits: LimitsOfLanes, terms: LeaseTerms, claiming: Claiming
    ) -> tuple[list[Row], LeaseTerms]:
        """The rows of runs that were started, and on which terms. Lanes without a limit never wait for one."""
        concerned = {pick.lane_id: limits.get(pick.lane_id, ()) for pick in picks}
        terms = self._moved(terms)
        if _can_guess(picks, limit, concerned):
            with suppress(Conflict):
                return self._take(picks, limit, _guess(picks, concerned), terms, claiming), terms
        pauses = iter(AGAIN)
        probing = False
        while True:
            seen = self._see(picks, limit, concerned, terms, probing=probing)
            try:
                found = self._take(picks, limit, seen, terms, claiming)
            except Conflict:
                found, is_over = [], False
            else:
                is_over = bool(found) or len(seen.limits) == len(concerned)  # no limit is locked by others
            if is_over:
                return found, terms
            pause = next(pauses, None)
            if pause is None:
                free = [pick for pick in picks if not concerned[pick.lane_id]]
                return self._start(claiming(free, limit, terms)) if free else [], terms
            time.sleep(pause)
            terms = self._moved(terms)
            probing = not self._database.dialect.one_writer

    def _moved(self, terms: LeaseTerms) -> LeaseTerms:
        """The same start now: it may have taken a while to get here."""
        now = max(terms.now, self._database.clock.now())
        return terms._replace(now=now, lease_until=terms.lease_until + (now - terms.now))

    def _see(
        self, picks: Sequence[Pick], limit: int, concerned: LimitsOfLanes, terms: LeaseTerms, *, probing: bool
    ) -> SeenLimits:
        """Read the state that a claim needs. `probing`: leave out limits that other claims have locked.

        The first try does not: whether a row is locked is found out by locking it, which is a write of its own.
        """
        every = {one.id: one for listed in concerned.values() for one in listed}
        asked = "free_limits" if probing else "limit_starts"
        batch = [Statement(asked, {"ids": sorted(every)})] if every else []
        batch += statements.running(dict.fromkeys(every.values(), MOST_RUNNING))
        batch += statements.started_now(concerned, terms)
        if len(picks) > 1:  # else no other pick could use the room of a lane that has no runs
            batch.append(statements.queued(picks, limit, terms))
        found = self._read(batch)
        starts: dict[int, str] = _by_id(found.get(asked))
        missing = [one for one in every.values() if one.id not in starts]
        locked = {one.id for one in missing} if probing else set()
        if missing and not probing and not self._database.dialect.one_writer:
            # On its own, and before: rows that are made while others are locked could not be made in one order.
            self._database.write([statements.adding(missing, terms.now)])
        queued = {(row[0], row[1]): row[2] for row in found.get("queued_runs", ())}
        return SeenLimits(
            {lane: listed for lane, listed in concerned.items() if locked.isdisjoint(one.id for one in listed)},
            dict.fromkeys(every, NO_STARTS) | starts,
            statements.uses(every, starts, _by_id(found.get("running_within"))),
            queued or {(pick.lane_id, pick.rank): pick.quota for pick in picks},
            _by_id(found.get("started_now")),
        )

    def _take(
        self, picks: Sequence[Pick], limit: int, seen: SeenLimits, terms: LeaseTerms, claiming: Claiming
    ) -> list[Row]:
        """Start what the limits leave room for; raises Conflict if they are not as they were seen."""
        free = [pick for pick in picks if pick.lane_id in seen.limits]
        granted = allot(free, limit, seen.limits, seen.uses, seen.queued, terms.now)
        # A statement for each lane, and a few guards; lanes that are too many have their turn with the next claim.
        granted = granted[: self._database.dialect.most_statements - GUARDS]
        if not granted:
            return []
        of_granted = {pick.lane_id: seen.limits[pick.lane_id] for pick in granted}
        guards = statements.guards(granted, of_granted, seen.starts, seen.started, terms)
        noting = statements.noting(of_granted, seen.uses, seen.started, terms)
        return self._start(claiming(granted, limit, terms), guards, noting)

    def _start(self, taking: Batch, guards: Batch = (), noting: Batch = ()) -> list[Row]:
        answers = self._database.write([*guards, *taking, *noting])
        return [row for answer in answers[len(guards) : len(guards) + len(taking)] for row in answer]

    def _read(self, batch: Batch) -> dict[str, list[Row]]:
        """The answers by the names of their queries."""
        answers = self._database.read(batch) if batch else []
        return {statement.query: rows for statement, rows in zip(batch, answers, strict=True)}

    def prune(self, now: datetime) -> None:
        """Check a page of the limits, and remove those whose starts no longer count; a limit that is needed again is
        made again."""
        page = read_rows(self._database, "limits", after=self._checked_to, limit=PAGE)
        self._checked_to = page[-1][0] if len(page) == PAGE else -1
        before = now - LIMIT_RETENTION
        idle = [row[0] for row in page if row[1] <= before]
        if idle:
            write_rows(self._database, "delete_limits", ids=idle, before=before)


def _can_guess(picks: Sequence[Pick], limit: int, concerned: LimitsOfLanes) -> bool:
    """Whether a claim can do without reading first: the guards count what is running anyway.

    Not with a rate, whose starts must be known; nor where two picks compete for the same room, and one of them may have
    no runs for what it would be given.
    """
    every = [one for pick in picks for one in concerned[pick.lane_id]]
    if any(one.rate is not None for one in every):
        return False
    return len(picks) == 1 or (len({one.id for one in every}) == len(every) and sum(p.quota for p in picks) <= limit)


def _guess(picks: Sequence[Pick], concerned: LimitsOfLanes) -> SeenLimits:
    """As if every pick had the room that its quota was given for."""
    starts = {one.id: NO_STARTS for listed in concerned.values() for one in listed}
    return SeenLimits(concerned, starts, {}, {(pick.lane_id, pick.rank): pick.quota for pick in picks}, {})


def _by_id(found: Sequence[Row] | None) -> dict[int, Any]:
    return {row[0]: row[1] for row in found or ()}
