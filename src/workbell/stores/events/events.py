"""Events in an SQL database: stored first, fanned out from storage, each by one scheduler."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from workbell.model.event import EmitKey, Event, FannedOut, Match, NewEvent, Rematch
from workbell.model.ids import FIRST_ID, LAST_ID
from workbell.model.run import Added
from workbell.stores import event_rows, flows
from workbell.stores.database import Batch, Conflict, Database, Dialect, Row, Rows, Statement, read_rows
from workbell.stores.event_rows import MATCH
from workbell.stores.events.adding import emitting
from workbell.stores.flows import Ask, Do, Flow
from workbell.stores.group_commit import GroupCommit
from workbell.stores.keyed_writes import KeyedWrites, LockName, LockWaits
from workbell.stores.pruning import Pruned, remove_with_parts
from workbell.stores.publisher import Pair
from workbell.stores.runs.adding import Replacing, Writing, add_runs, make_room, read_replaced
from workbell.stores.runs.lanes import Lanes
from workbell.stores.runs.making import Making

EACH = 4  # statements that a match takes, at most: it is a guard, and may make a lane
TRIES = 20  # of a write whose guards refuse: each time another process has written


class StoredEvents:
    """The events of one database. See `Events` in the port."""

    def __init__(self, database: Database, lanes: Lanes, making: Making, waits: LockWaits) -> None:
        self._database = database
        self._lanes = lanes
        self._making = making
        self._plain: GroupCommit[NewEvent, Added] = GroupCommit(self._write, self._written)
        self._keyed: KeyedWrites[NewEvent, Added] = KeyedWrites(self._write, self._written, _names_of, waits)

    # Making

    def add(self, new: Sequence[Event], once: EmitKey | None = None) -> builtins.list[Added]:
        if not new:
            return []
        items = [NewEvent(event, once) for event in new]
        if all(event.system for event in new):
            # Workbell's own do not wait behind a caller's, whose key may be held by an open transaction.
            added = self._write(items)
        elif any(event.key is not None for event in new):
            added = self._keyed.submit(items)
        else:
            added = self._plain.submit(items)
        self._database.wake()
        return added

    def _write(self, new: Sequence[NewEvent], lock: float | None = None) -> builtins.list[Added]:
        return flows.run(self._database, emitting(new), lock=lock)

    def _written(self, new: Sequence[NewEvent]) -> builtins.list[Added] | None:
        """The answers for events whose write was interrupted; None if none of them was made."""
        made = self.find([one.event.id for one in new])
        return flows.run(self._database, emitting(new, made)) if made else None

    def add_on(self, connection: Any, event: Event) -> Added:
        (added,) = self._database.borrow(connection).run(emitting([NewEvent(event)]))
        self._database.wake_later()
        return added

    async def aadd_on(self, connection: Any, event: Event) -> Added:
        caller = await self._database.aborrow(connection)
        (added,) = await caller.run(emitting([NewEvent(event)]))
        self._database.wake_later()
        return added

    # Fanning out

    def waiting(self, limit: int) -> builtins.list[Event]:
        return self._query("waiting_events", limit=limit)

    def fan_out(self, fanned: Sequence[FannedOut], now: datetime) -> set[str]:
        """Many events in one write, each if nobody else has taken it. Those whose runs replace others each have a write
        of their own: it must be known that the event is taken before anything is ended for it."""
        plain = [one for one in fanned if not any(run.replace_tag for run in one.runs)]
        taken = self._fan_out_plain(plain, now) if plain else set()
        for one in fanned:
            if any(run.replace_tag for run in one.runs) and self._fan_out_replacing(one, now):
                taken.add(one.event_id)
        return taken

    def _fan_out_plain(self, fanned: Sequence[FannedOut], now: datetime) -> set[str]:
        lanes = self._lanes.prepare([request for one in fanned for request in one.runs])
        making, left = self._lanes.statements(lanes), list(fanned)
        while left:
            batch = [*making, *_fanning(self._database.dialect, left, now)]
            try:
                answers = self._database.write(batch)
            except Conflict as conflict:
                if conflict.query != "take_events":  # what an event matched is in the ledger already
                    raise
                found = read_rows(self._database, "waiting_ids", ids=[one.event_id for one in left])
                waiting = {row[0] for row in found}
                left = [one for one in left if one.event_id in waiting]
            else:
                self._lanes.note(lanes)
                return {row[0] for row in answers[len(making)]}
        return set()

    def _fan_out_replacing(self, one: FannedOut, now: datetime) -> bool:
        lanes = self._lanes.prepare(one.runs)
        replacing = self._making.replacing(waits=False)
        ended = flows.run(
            self._database,
            _replacing(one, now, replacing, self._lanes.statements(lanes)),
            written=self._making.publisher.written,
        )
        if ended is None:
            return False
        self._lanes.note(lanes)
        self._making.publisher.written(ended)
        return True

    def rematch(self, matched: Sequence[Rematch]) -> set[str]:
        most = self._database.dialect.most_statements // EACH
        if len(matched) > most:  # each stands for itself
            return {name for start in range(0, len(matched), most) for name in self.rematch(matched[start:][:most])}
        requests = [one.request for one in matched if one.request is not None]
        lanes = self._lanes.prepare(requests)
        made = flows.run(self._database, _rematching(matched, self._lanes.statements(lanes)))
        if made:
            self._lanes.note(lanes)
        self._database.wake()
        return made

    def prune(self, before: datetime, limit: int) -> Pruned:
        """Remove events whose retention is over, with their matches."""
        values = {"before": before, "limit": limit}
        return remove_with_parts(self._database, "delete_events", ("delete_matches",), values)

    # Reading

    def _query(self, query: str, **values: Any) -> builtins.list[Event]:
        return [event_rows.event_from(row) for row in read_rows(self._database, query, **values)]

    def find(self, ids: Iterable[str]) -> dict[str, Event]:
        return {event.id: event for event in self._query("find_events", ids=list(ids))}

    def list(self, tenant: str, *, type: str | None, before: str | None, limit: int) -> builtins.list[Event]:  # noqa: A002
        values: dict[str, Any] = {"tenant": tenant, "before": before or LAST_ID, "limit": limit}
        if type is None:
            return self._query("list_events", **values)
        return self._query("list_events_of", type=type, **values)

    def matches(self, event: str, *, after: str | None, limit: int) -> builtins.list[Match]:
        found = read_rows(self._database, "matches_of_event", event=event, after=after or FIRST_ID, limit=limit)
        return [event_rows.match_from(row) for row in found]

    def matches_of_subscriber(self, subscriber: str, *, before: str | None, limit: int) -> builtins.list[Match]:
        values = {"subscriber": subscriber, "before": before or LAST_ID, "limit": limit}
        return [event_rows.match_from(row) for row in read_rows(self._database, "matches_of_subscriber", **values)]


def _names_of(new: NewEvent) -> list[LockName]:
    """Locks that an event may wait for."""
    event = new.event
    if event.key is None:
        return []
    return [LockName((event.tenant, event.source, event.key), f"the key {event.key!r} of the source {event.source}")]


def _fanning(dialect: Dialect, fanned: Sequence[FannedOut], now: datetime) -> Iterator[Statement]:
    """Write the fan-out of events.

    With one writer at a time, all of them or none. Where another process takes some of them at the same time, each
    writes what it took first: if both started again, they could do so forever.
    """
    whole = dialect.one_writer
    yield _take(fanned, now, exactly=len(fanned) if whole else None)
    runs = [request for one in fanned for request in one.runs]
    if runs:
        yield add_runs(runs, "add_runs" if whole else "add_taken_runs")
    yield from _matches(fanned, "add_matches" if whole else "add_taken_matches")


def _take(fanned: Sequence[FannedOut], now: datetime, exactly: int | None) -> Statement:
    return Statement("take_events", {"ids": [one.event_id for one in fanned], "now": now}, exactly)


def _matches(fanned: Sequence[FannedOut], query: str = "add_matches") -> Iterator[Statement]:
    matches = [event_rows.match_row(match) for one in fanned for match in one.matches]
    if matches:
        yield Statement(query, {"rows": Rows(MATCH, matches)})


def _replacing(
    one: FannedOut, now: datetime, replacing: Replacing, lanes: Sequence[Statement]
) -> Flow[builtins.list[Pair] | None]:
    """The waiting runs that those of an event replace; None: another process has the event, or locks a tag."""
    for _ in range(TRIES):
        seen = yield from read_replaced(one.runs, replacing.dialect)
        still_waits = Statement("waiting_ids", {"ids": [one.event_id]}, exactly=1)
        try:
            seen = yield from make_room(one.runs, seen, replacing, [still_waits])
            writing = Writing(replacing, seen)
            yield Do([*lanes, _take([one], now, exactly=1), *writing.batch(one.runs), *_matches([one])])
        except Conflict as conflict:
            if conflict.query in ("take_events", "waiting_ids", "try_tag"):
                return None
            if conflict.query is None:
                raise
        else:
            return writing.ended
    return None


def _rematching(matched: Sequence[Rematch], lanes: Sequence[Statement]) -> Flow[set[str]]:
    """The ids of the runs that were made."""
    # In one order: two writers of the same matches would deadlock otherwise.
    left = sorted(matched, key=_match_key)
    for _ in range(TRIES):
        if not left:
            break
        batch = [
            Statement("put_match", event_rows.match_values(one.match) | {"before": one.before}, exactly=1)
            for one in left
        ]
        requests = [one.request for one in left if one.request is not None]
        try:
            yield Do([*lanes, *batch, *([add_runs(requests)] if requests else ())])
        except Conflict:
            keys = sorted({_match_key(one) for one in left})
            answers = yield Ask([Statement("run_of_match", {"event": event, "subscriber": by}) for event, by in keys])
            left = _possible(left, dict(zip(keys, answers, strict=True)))
        else:
            return {request.run.id for request in requests}
    return set()


def _possible(matched: Sequence[Rematch], there: dict[tuple[str, str], list[Row]]) -> list[Rematch]:
    """Those whose match is missing from the ledger, or belongs to the run that they are to follow."""
    holders = {key: rows[0][0] for key, rows in there.items() if rows}
    left = []
    for one in matched:
        key = _match_key(one)
        if key not in holders or holders[key] == one.before:
            left.append(one)
            holders[key] = one.match.run
    return left


def _match_key(one: Rematch) -> tuple[str, str]:
    return one.match.event, one.match.subscriber


def loading(events: Sequence[Event], matches: Sequence[Match]) -> Batch:
    """Events and matches of another store."""
    batch = []
    for event in events:
        batch.append(Statement("add_event", event_rows.event_values(event)))
        if event.fanned_out_at is not None:
            batch.append(Statement("settle_event", {"id": event.id, "at": event.fanned_out_at}))
    for match in matches:
        batch.append(Statement("load_match", event_rows.match_values(match)))
        batch.append(Statement("settle_event", {"id": match.event, "at": match.created_at}))
    return batch
