"""The PostgreSQL store: the shared verbs over a pool of connections."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from workbell.model.clock import EPOCH, SystemClock
from workbell.model.event import Event, NewEvent
from workbell.model.payload_fields import Field
from workbell.model.run import Added, Lane, NewRun, Run
from workbell.model.schedule import ScheduleChange
from workbell.model.state import MOVES, Keep, Move
from workbell.stores.callers import Request, Spelled
from workbell.stores.database import Row, Rows, Statement
from workbell.stores.port import Held, Lease, Pick, Renewed, Watch
from workbell.stores.postgres import calls, fields
from workbell.stores.postgres.callers import open_async_caller, open_caller
from workbell.stores.postgres.calls import Calls
from workbell.stores.postgres.connections import Connection
from workbell.stores.postgres.copy_text import copy_lines
from workbell.stores.postgres.database import ONLY_SQLITE, QUERIES, PostgresDatabase, PostgresSession, bind
from workbell.stores.postgres.hints import LATER, Notifier
from workbell.stores.postgres.keyed_writes import KeyedWrites, LockName, LockWaits
from workbell.stores.postgres.listener import Listener, ListenWatch
from workbell.stores.postgres.translation import Busy
from workbell.stores.rows import run_with_times
from workbell.stores.session import Session
from workbell.stores.sql_events import statements_for_event
from workbell.stores.sql_recent import Wanted
from workbell.stores.sql_store import SqlStore
from workbell.stores.statements import Tag, making, replaced_tag

T = TypeVar("T")

log = logging.getLogger("workbell.store")

RUNNING = MOVES[Move.START].targets[0].value
CONNECTIONS = 5  # of one process, by default: one of them listens
AT_ONCE = 2  # connections that the duties of an engine always find open: one claims while another books
PART = 250  # so many changes of schedules are not worth a second connection


class Halves(list[ScheduleChange]):
    """Prepared changes that are written side by side; each of them is whole by itself, the two need not be."""

    def __init__(self, first: Sequence[ScheduleChange], second: Sequence[ScheduleChange]) -> None:
        super().__init__([*first, *second])
        self.first = first
        self.second = second


class PostgresStore(SqlStore):
    """Jobs and runs in PostgreSQL, for any number of machines."""

    engine = "postgres"

    def __init__(
        self, url: str, clock: SystemClock | None = None, keep: Keep | None = None, connections: int | None = None
    ) -> None:
        self.calls = Calls(url, size=_besides_listening(connections or CONNECTIONS))
        self._notifier = Notifier(self.calls)
        self.database = PostgresDatabase(self.calls, self._notifier, clock or SystemClock())
        super().__init__(self.database, keep or Keep())
        self._listener = Listener(self.calls)
        self._waits = LockWaits(self.calls.size)
        self._keyed_runs = KeyedWrites(self._write_keyed_runs, self._written_runs, _names_of_run, self._waits)
        self._keyed_events = KeyedWrites(self._write_keyed_events, self._written_events, _names_of_event, self._waits)
        self._store_id = ""

    def limit_connections(self, count: int) -> None:
        self.calls.resize(_besides_listening(count))
        self._waits.resize(self.calls.size)

    def read(self, work: Callable[[Session], T]) -> T:
        self.database.ready()
        return self.database.run_read(work)

    def write(self, work: Callable[[Session], T], *, first: bool = False) -> T:
        self.database.ready()
        return self.database.run_write(work, first=first)

    def _single(self, work: Callable[[Session], T]) -> T:
        """A unit that is one statement: a transaction by itself, without the round trips of BEGIN and COMMIT."""
        return self.read(work)

    def _write_runs(self, new: Sequence[NewRun]) -> list[Added]:
        """Plain runs: nothing that they write can be locked by another transaction. See `KeyedWrites` for others."""
        self._make_lanes(self._unknown_lanes(new))
        added, _ = self._single(lambda session: self._add(session, new, ()))
        return added

    def _submit_runs(self, new: Sequence[NewRun]) -> list[Added]:
        if any(request.run.key_text is not None or request.replace_tag for request in new):
            return self._keyed_runs.submit(new)
        return self._adds.submit(new)

    def _write_keyed_runs(self, new: Sequence[NewRun], lock: float) -> list[Added]:
        # Lanes first and on their own: a lane made inside a caller's long transaction would hold up everybody
        # else who makes the same one.
        self._make_lanes(self._unknown_lanes(new))
        added, replaced = self._write_keyed(lambda session: self._add(session, new, ()), lock)
        self.publisher.written(replaced)
        return added

    def _submit_events(self, new: Sequence[NewEvent]) -> list[Added]:
        if any(one.event.key is not None for one in new):
            return self._keyed_events.submit(new)
        return self._event_adds.submit(new)

    def _write_keyed_events(self, new: Sequence[NewEvent], lock: float) -> list[Added]:
        return self._write_keyed(lambda session: self._emit_once(session, new), lock)

    def _write_keyed(self, work: Callable[[Session], T], lock: float) -> T:
        self.database.ready()
        return self.calls.run(lambda c: work(PostgresSession(c)), transaction=True, lock=lock)

    def prepare_schedules(self, changes: Sequence[ScheduleChange]) -> Sequence[ScheduleChange]:
        if len(changes) <= PART:
            return super().prepare_schedules(changes)
        half = len(changes) // 2
        return Halves(super().prepare_schedules(changes[:half]), super().prepare_schedules(changes[half:]))

    def write_schedules(self, changes: Sequence[ScheduleChange]) -> set[str]:
        """Many prepared changes go on two connections at once: a thousand ticks in 38 ms and not in 60 (medians)."""
        if not isinstance(changes, Halves):
            return super().write_schedules(changes)
        with ThreadPoolExecutor(1, thread_name_prefix="workbell-ticks") as thread:
            second = thread.submit(super().write_schedules, changes.second)
            first = super().write_schedules(changes.first)
            return first | second.result()

    def locked_live(self, session: Session, schedules: Sequence[str]) -> set[str]:
        return {row[0] for row in session.rows("locked_live", schedules=list(schedules))}

    def held_tags(self, session: Session, new: Sequence[NewRun]) -> set[Tag]:
        tags = sorted({tag for one in new if (tag := replaced_tag(one)) is not None})
        return {tag for tag in tags if not session.rows("try_tag", tenant=tag[0], tag=tag[1])[0][0]}

    def spell_runs(self, new: Sequence[NewRun]) -> Any:
        return copy_lines(new)

    def prepare_lanes(self, new: Sequence[NewRun]) -> Sequence[Lane]:
        self._make_lanes(super().prepare_lanes(new))
        return ()

    def _make_lanes(self, unknown: Sequence[Lane]) -> None:
        if unknown:
            self.write(lambda session: self._ensure_lanes(session, unknown))
            self.note_lanes(unknown)

    def _ensure_lanes(self, session: Session, lanes: Iterable[Lane]) -> None:
        now = self.clock.now()
        for lane in sorted(lanes, key=lambda lane: lane.id):
            session.rows("add_lane", lane=lane.id, created_at=now, **msgspec.structs.asdict(lane))

    def _write_claim(self, work: Callable[[Session], list[Row]]) -> list[Row]:
        return self._single(work)

    def _claim(
        self, session: Session, picks: Sequence[Pick], limit: int, worker: str, now: datetime, lease_until: datetime
    ) -> list[Row]:
        rule = MOVES[Move.START]
        values: dict[str, Any] = {"worker": worker, "now": now, "lease_until": lease_until, "limit": limit}
        values |= {"from_status": rule.sources[0].value, "to_status": rule.targets[0].value}
        values |= {"lanes": [pick.lane_id for pick in picks], "ranks": [pick.rank for pick in picks]}
        values |= {"quotas": [pick.quota for pick in picks]}
        return session.rows("claim", **values)

    def _write_moves(self, work: Callable[[Session], set[str]]) -> set[str]:
        return self.write(work, first=True)

    def spell_field(self, field: Field, letter: str) -> tuple[str, dict[str, Any]]:
        return fields.spell(field, letter)

    def newest_of_lanes(self, session: Session, wanted: Sequence[Wanted], limit: int) -> Iterator[tuple[int, str]]:
        lanes, oldest = [lane for lane, _ in wanted], [oldest for _, oldest in wanted]
        return ((row[0], row[1]) for row in session.rows("recent_of_lanes", lanes=lanes, oldest=oldest, limit=limit))

    def look(self, work: Callable[[Session], T]) -> T:
        return self.write(work)  # a transaction is how long the settings of a look last

    def is_among(self, ids: str) -> str:
        return f"r.id = ANY(ARRAY({ids}))"  # of IN it makes a join, and may ask again for each row

    def merge_lanes(self, newest: str) -> str:
        lanes = "unnest(CAST(:lanes AS bigint[])) AS lane(value)"
        found = f"SELECT h.id FROM {lanes} CROSS JOIN LATERAL ({newest}) AS h"  # noqa: S608
        return f"{found} ORDER BY h.id DESC LIMIT :limit"

    def make_run(self, row: Row, lanes: Mapping[int, Lane]) -> Run:
        return run_with_times(row, lanes)

    def spell(self, columns: Sequence[str], values: Sequence[Sequence[Any]]) -> dict[str, Any]:
        return bind({"rows": Rows(columns, values)})

    def dispatch(self, now: datetime, limit: int) -> int:
        rule = MOVES[Move.DISPATCH]
        values = {"from_status": rule.sources[0].value, "to_status": rule.targets[0].value}
        return len(self._single(lambda session: session.rows("dispatch", now=now, limit=limit, **values)))

    def renew(self, held: Sequence[Held], *, now: datetime, lease_until: datetime) -> list[Renewed]:
        """On the connection that listens, if all others are busy: a lease must not end because of somebody's wait."""

        def work(connection: Connection) -> list[Renewed]:
            return self._renew(PostgresSession(connection), held, now, lease_until)

        with suppress(Busy):
            return self.calls.run(work, transaction=False, first=True, patience=0)
        renewed = self._listener.run(work)
        return self.calls.run(work, transaction=False, first=True) if renewed is None else renewed

    def _renew(self, session: Session, held: Sequence[Held], now: datetime, lease_until: datetime) -> list[Renewed]:
        values = {"ids": [lease.run_id for lease in held], "tokens": [lease.token for lease in held]}
        values |= {"statuses": [RUNNING] * len(held)}
        return [Renewed(*row) for row in session.rows("renew", taken=EPOCH, lease_until=lease_until, **values)]

    def _take_over(self, session: Session, leases: Sequence[Lease], limit: int) -> list[Row]:
        values = {"ids": [lease.run_id for lease in leases], "tokens": [lease.token for lease in leases]}
        values |= {"ends": [lease.until for lease in leases], "limit": limit}
        return session.rows("take_over", taken=EPOCH, status=RUNNING, **values)

    # The caller's own transaction

    def add_on(self, connection: Any, new: Sequence[NewRun]) -> list[Added]:
        caller = open_caller(connection, self._identity())
        added = caller.run(self._statements(new))
        self._notifier.send_later(LATER)
        return added

    async def aadd_on(self, connection: Any, new: Sequence[NewRun]) -> list[Added]:
        # Both may have to ask the database on a connection of ours, which must not hold up the event loop.
        identity = self._store_id or await asyncio.to_thread(self._identity)
        caller = await open_async_caller(connection, identity)
        added = await caller.run(await asyncio.to_thread(self._statements, new))
        self._notifier.send_later(LATER)
        return added

    def add_event_on(self, connection: Any, event: Event) -> Added:
        added = open_caller(connection, self._identity()).emit(event, _spell_all(statements_for_event(event)))
        self._notifier.send_later(LATER)
        return added

    async def aadd_event_on(self, connection: Any, event: Event) -> Added:
        identity = self._store_id or await asyncio.to_thread(self._identity)
        caller = await open_async_caller(connection, identity)
        added = await caller.emit(event, _spell_all(statements_for_event(event)))
        self._notifier.send_later(LATER)
        return added

    def _statements(self, new: Sequence[NewRun]) -> list[Request]:
        self._make_lanes(self._unknown_lanes(new))
        return [Request(request, making(request, self.replacing, []), _spell) for request in new]

    def _identity(self) -> str:
        if not self._store_id:
            self._store_id = self.read(lambda session: session.rows("store_id"))[0][0]
        return self._store_id

    # Hints and housekeeping

    def watch(self) -> Watch:
        self.calls.fill(min(AT_ONCE, self.calls.size))
        return ListenWatch(self._listener)

    def wake(self) -> None:
        self.database.wake()

    def tidy(self) -> None:
        """Ends what a frozen process has left open, where no timeout does. Autovacuum is set on the tables."""
        self.read(lambda session: session.rows("end_stuck", seconds=calls.DEADLINE))

    def measure_time(self) -> None:
        def ask() -> datetime:
            found: datetime = self.read(lambda session: session.rows("time"))[0][0]
            return found

        if isinstance(self.clock, SystemClock):
            self.clock.measure(ask)

    def check(self, *, joining: bool = False) -> None:
        self.database.ready()

    def migrate(self) -> list[str]:
        return self.database.migrate()

    def describe(self) -> list[tuple[str, str, str]]:
        wanted = ("server_version", "fsync", "synchronous_commit", "full_page_writes")
        query = "SELECT name, setting FROM pg_settings WHERE name = ANY(:wanted)"
        found = dict(self.read(lambda s: [tuple(row) for row in s.text_rows(query, {"wanted": list(wanted)})]))
        findings = [("ok", "PostgreSQL", f"{found['server_version']} at {self.calls.name}")]
        for name in wanted[1:]:
            level = "risk" if found[name] == "off" else "ok"
            text = "off: a crash can lose runs that were accepted" if level == "risk" else found[name]
            findings.append((level, name, text))
        return findings

    def close(self) -> None:
        self._notifier.close()
        self.calls.close()


def _besides_listening(connections: int) -> int:
    """How many are left for everything but hints."""
    return max(connections - 1, 1)


def _spell(statement: Statement) -> Spelled | None:
    """A statement as a caller's connection executes it."""
    if statement.query in ONLY_SQLITE:
        return None
    return statement.query, QUERIES[statement.query], dict(statement.values)


def _names_of_run(request: NewRun) -> list[LockName]:
    """What a request may have to wait for."""
    run = request.run
    names = [] if run.key_text is None else [LockName((run.tenant, run.key_text), f"the key {run.key!r}")]
    return [*names, LockName((run.tenant, "tag", run.tag), f"the tag {run.tag!r}")] if request.replace_tag else names


def _names_of_event(new: NewEvent) -> list[LockName]:
    event = new.event
    if event.key is None:
        return []
    return [LockName((event.tenant, event.source, event.key), f"the key {event.key!r} of the source {event.source}")]


def _spell_all(statements: Iterable[Statement]) -> list[Spelled]:
    return [spelled for spelled in map(_spell, statements) if spelled is not None]
