"""The PostgreSQL store: the shared verbs over a pool of connections."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from typing import Any, TypeVar

import msgspec
import psycopg

from workbell.errors import StoreUnavailable
from workbell.model.clock import EPOCH, SystemClock
from workbell.model.event import Event, NewEvent
from workbell.model.payload_fields import Field
from workbell.model.run import Added, Lane, NewRun, Run
from workbell.model.schedule import ScheduleChange
from workbell.model.state import MOVES, Keep, Move
from workbell.stores import migrate
from workbell.stores.callers import Request, Spelled
from workbell.stores.filters import AMONG_LANES, OF_LANES
from workbell.stores.port import Held, Lease, Pick, Renewed, Watch
from workbell.stores.postgres import database, fields
from workbell.stores.postgres.arrays import array_text
from workbell.stores.postgres.callers import open_async_caller, open_caller
from workbell.stores.postgres.connections import Connection
from workbell.stores.postgres.copy_text import copy_lines
from workbell.stores.postgres.database import Database
from workbell.stores.postgres.hints import LATER, Notifier
from workbell.stores.postgres.keyed_writes import KeyedWrites, LockName, LockWaits
from workbell.stores.postgres.listener import Listener, ListenWatch
from workbell.stores.postgres.sessions import shown
from workbell.stores.postgres.translation import Busy
from workbell.stores.queries import migrations, queries, spell_postgres
from workbell.stores.rows import NEW, new_values, place_columns, run_with_times
from workbell.stores.session import Row, Session
from workbell.stores.sql_events import statements_for_event
from workbell.stores.sql_recent import Wanted
from workbell.stores.sql_store import SqlStore
from workbell.stores.statements import Statement, Tag, making, replaced_tag

T = TypeVar("T")

log = logging.getLogger("workbell.store")

QUERIES = {name: spell_postgres(place_columns(text)) for name, text in queries("postgres").items()}
RUNNING = MOVES[Move.START].targets[0].value
CONNECTIONS = 5  # of one process, by default: one of them listens
AT_ONCE = 2  # connections that the duties of an engine always find open: one claims while another books
MIGRATION = 3600.0  # seconds to bring the tables up to date: an index of a long history may be among it
PATIENCE = 300.0  # seconds to try that, while others hold the tables
PAUSE = 3.0  # seconds between two tries: those who queued up behind the first are let pass
PART = 250  # so many changes of schedules are not worth a second connection
# How PostgreSQL is told to go by indexes. Until a table is analysed, it knows only how large that is, and sorts a
# million rows to have fifty of them. Once it is, it takes a value to be spread evenly, and walks along the ids for the
# runs of a job that are all old (1.6 s). Where pages cost nothing, what leads to the fewest rows is always cheapest.
# Compiling is off because what is ruled out still counts as dear.
FOLLOWING = {"enable_seqscan": "off", "enable_bitmapscan": "off", "enable_sort": "off", "jit": "off"}
FOLLOWING |= {"random_page_cost": "0", "seq_page_cost": "0"}
FOLLOW_INDEXES = "SELECT " + ", ".join(f"set_config('{name}', '{value}', true)" for name, value in FOLLOWING.items())
ONLY_SQLITE = frozenset({"remove_canceled", "free_replaced_keys"})  # one statement does all of it here


class PostgresSession(Session):
    """Queries on one psycopg connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def rows(self, query: str, /, **values: Any) -> list[Row]:
        return self.execute(Statement(query, values))

    def execute(self, statement: Statement) -> list[Row]:
        if statement.query in ONLY_SQLITE:
            return []
        return self._fetch(QUERIES[statement.query], statement.values)

    def _fetch(self, text: str, values: dict[str, Any]) -> list[Row]:
        cursor = self._connection.execute(text, values)
        return cursor.fetchall() if cursor.description else []

    def finish(self, ending: dict[str, Any]) -> list[Row]:
        return self._fetch(QUERIES["finish"], ending)

    def insert(self, new: Sequence[NewRun]) -> None:
        if len(new) == 1:
            self._connection.execute(QUERIES["add_run"], dict(zip(NEW, new_values(new[0]), strict=True)))
            return
        self.insert_spelled(copy_lines(new))

    def insert_spelled(self, spelled: tuple[list[str], bytes]) -> None:
        columns, lines = spelled
        statement = f"COPY workbell_runs ({', '.join(columns)}) FROM STDIN"
        with self._connection.cursor().copy(statement) as copy:
            copy.write(lines)

    def text_rows(self, sql: str, values: dict[str, Any]) -> list[Row]:
        listed = "= ANY(CAST(:lanes AS bigint[]))"
        text = sql.replace(OF_LANES, f"r.lane {listed}").replace(AMONG_LANES, f"(r.lane + 0) {listed}")
        return self._fetch(spell_postgres(place_columns(text)) if values else sql, values)

    def follow_indexes(self) -> None:
        self._connection.execute(FOLLOW_INDEXES)


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
        super().__init__(clock or SystemClock(), keep or Keep())
        self.database = Database(url, size=_besides_listening(connections or CONNECTIONS))
        self._notifier = Notifier(self.database)
        self._listener = Listener(self.database)
        self._waits = LockWaits(self.database.size)
        self._keyed_runs = KeyedWrites(self._write_keyed_runs, self._written_runs, _names_of_run, self._waits)
        self._keyed_events = KeyedWrites(self._write_keyed_events, self._written_events, _names_of_event, self._waits)
        self._store_id = ""
        self._checked = False

    def limit_connections(self, count: int) -> None:
        self.database.resize(_besides_listening(count))
        self._waits.resize(self.database.size)

    def read(self, work: Callable[[Session], T]) -> T:
        return self.database.run(lambda c: work(PostgresSession(c)), transaction=False)

    def write(self, work: Callable[[Session], T], *, first: bool = False) -> T:
        return self.database.run(lambda c: work(PostgresSession(c)), transaction=True, first=first)

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
        return self.database.run(lambda c: work(PostgresSession(c)), transaction=True, lock=lock)

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
        return dict(zip(columns, map(array_text, zip(*values, strict=True)), strict=True))

    def dispatch(self, now: datetime, limit: int) -> int:
        rule = MOVES[Move.DISPATCH]
        values = {"from_status": rule.sources[0].value, "to_status": rule.targets[0].value}
        return len(self._single(lambda session: session.rows("dispatch", now=now, limit=limit, **values)))

    def renew(self, held: Sequence[Held], *, now: datetime, lease_until: datetime) -> list[Renewed]:
        """On the connection that listens, if all others are busy: a lease must not end because of somebody's wait."""

        def work(connection: Connection) -> list[Renewed]:
            return self._renew(PostgresSession(connection), held, now, lease_until)

        with suppress(Busy):
            return self.database.run(work, transaction=False, first=True, patience=0)
        renewed = self._listener.run(work)
        return self.database.run(work, transaction=False, first=True) if renewed is None else renewed

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
        self.database.fill(min(AT_ONCE, self.database.size))
        return ListenWatch(self._listener)

    def wake(self) -> None:
        self._notifier.send()

    def tidy(self) -> None:
        """Ends what a frozen process has left open, where no timeout does. Autovacuum is set on the tables."""
        self.read(lambda session: session.rows("end_stuck", seconds=database.DEADLINE))

    def measure_time(self) -> None:
        def ask() -> datetime:
            found: datetime = self.read(lambda session: session.rows("time"))[0][0]
            return found

        if isinstance(self.clock, SystemClock):
            self.clock.measure(ask)

    def check(self, *, joining: bool = False) -> None:
        if not self._checked:
            there = self.read(lambda session: migrate.check(migrate.PostgresSchema(session), self.database.name))
            if not there:
                self.migrate()
            self._checked = True

    def migrate(self) -> list[str]:
        """Applies what is missing. Where others hold a table it waits for a moment, lets pass whoever has queued up
        behind it, and tries again."""
        give_up_at = self.clock.monotonic() + PATIENCE
        is_told = False
        while True:
            try:
                done = self.database.run(_migrate, transaction=True, deadline=MIGRATION, lock=0)
                self._checked = False
                return done
            except StoreUnavailable as error:
                if not isinstance(error.__cause__, psycopg.errors.LockNotAvailable):
                    raise
                where, holders = f"PostgreSQL at {self.database.name}", self._table_holders()
                if self.clock.monotonic() >= give_up_at:
                    raise StoreUnavailable(
                        f"{where}: the tables could not be changed within {PATIENCE:g} s, because another transaction "
                        f"holds them: {holders}. Wait until it ends, or end it with "
                        "`SELECT pg_terminate_backend(pid)`; then repeat `workbell migrate`."
                    ) from error
                if not is_told:
                    log.warning("%s: migrating waits for another transaction to end: %s", where, holders)
                    is_told = True
            time.sleep(PAUSE)

    def _table_holders(self) -> str:
        tables = sorted({table for _, _, text in migrations(self.engine) for table in migrate.altered(text)})
        found = self.read(lambda session: session.rows("table_holders", tables=tables, seconds=migrate.LOCK / 2))
        listed = [_holder(*row) for row in found]
        return "; ".join(listed) or "it is over meanwhile"

    def describe(self) -> list[tuple[str, str, str]]:
        wanted = ("server_version", "fsync", "synchronous_commit", "full_page_writes")
        query = "SELECT name, setting FROM pg_settings WHERE name = ANY(:wanted)"
        found = dict(self.read(lambda s: [tuple(row) for row in s.text_rows(query, {"wanted": list(wanted)})]))
        findings = [("ok", "PostgreSQL", f"{found['server_version']} at {self.database.name}")]
        for name in wanted[1:]:
            level = "risk" if found[name] == "off" else "ok"
            text = "off: a crash can lose runs that were accepted" if level == "risk" else found[name]
            findings.append((level, name, text))
        return findings

    def close(self) -> None:
        self._notifier.close()
        self.database.close()


def _besides_listening(connections: int) -> int:
    """How many are left for everything but hints."""
    return max(connections - 1, 1)


def _spell(statement: Statement) -> Spelled | None:
    """A statement as a caller's connection executes it."""
    if statement.query in ONLY_SQLITE:
        return None
    return statement.query, QUERIES[statement.query], statement.values


def _migrate(connection: Connection) -> list[str]:
    return migrate.run(migrate.PostgresSchema(PostgresSession(connection)))


def _holder(pid: int, application: str, state: str, seconds: Any, query: str) -> str:
    text = f"pid {pid} ({application or 'no name'}, {state or 'unknown'}, open for {float(seconds):.0f} s)"
    statement = shown(query)
    return f"{text}: {statement}" if statement else text


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
