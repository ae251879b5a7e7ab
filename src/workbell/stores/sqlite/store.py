"""The SQLite store: the shared verbs over one file."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from workbell.errors import SchemaMismatch
from workbell.model.clock import EPOCH, Clock, SystemClock
from workbell.model.event import Event
from workbell.model.payload_fields import Field
from workbell.model.run import Added, Lane, NewRun, Run
from workbell.model.state import MOVES, Keep, Move, Transition
from workbell.stores import event_rows, migrate, service_rows
from workbell.stores.callers import Request, Spelled
from workbell.stores.filters import AMONG_LANES, OF_LANES
from workbell.stores.port import Held, Lease, Pick, Renewed, Watch
from workbell.stores.queries import queries
from workbell.stores.rows import (
    JOB,
    NEW,
    REPORT,
    SCHEDULE,
    TIMES,
    WORKER,
    from_micros,
    new_values,
    place_columns,
    run_with_micros,
    to_micros,
)
from workbell.stores.session import Row, Session
from workbell.stores.sql_events import statements_for_event
from workbell.stores.sql_recent import Wanted
from workbell.stores.sql_store import SqlStore
from workbell.stores.sqlite import fields
from workbell.stores.sqlite.callers import open_async_caller, open_caller
from workbell.stores.sqlite.file import SqliteFile, wal_reset_bug
from workbell.stores.sqlite.watch import watch
from workbell.stores.statements import Statement, making

T = TypeVar("T")

QUERIES = {name: place_columns(text) for name, text in queries("sqlite").items()}
RUNNING = MOVES[Move.START].targets[0].value
ONLY_POSTGRES = frozenset({"lock_tag"})  # one writes at a time here
PLAIN = NEW.index("input") + 1
UNUSED = [0 if name == "user_id" else None for name in NEW[PLAIN:]]  # what the columns hold if nothing is said


@cache
def _insert(used: tuple[int, ...]) -> str:
    """The statement for runs that use these columns."""
    names = ", ".join(NEW[place] for place in used)
    return f"INSERT INTO workbell_runs ({names}) VALUES ({', '.join('?' * len(used))})"  # noqa: S608


INSERT_PLAIN = _insert(tuple(range(PLAIN)))
# Which columns of a query's answer are times; runs are turned by rows.run_with_micros instead.
TIME_COLUMNS = {
    "next_due": (0,),
    "next_due_after": (0,),
    "counts": (3,),
    "attempts": (3, 4),
    "export_ticks": (1, 2, 7),
    "ticks": (1, 2, 7),
    "next_look": (0,),
    "next_look_after": (0,),
    "export_attempts": (3, 4),
    "export_keys": (3,),
    "logs": (3,),
    "export_logs": (3,),
    "keyed_lanes": (1,),
    "limits": (1,),
    "ended_runs": (3, 4),
    "live_retries": (3,),
    "finished_retries": (3,),
    "pauses": (3,),
    "find_pause": (3,),
    "put_worker": (0,),
    "leases": (2,),
}
for workers in ("workers", "worker", "drain_worker", "resume_worker"):
    TIME_COLUMNS[workers] = tuple(place for place, name in enumerate(WORKER) if name in TIMES)
JOB_TIMES = (JOB.index("created_at"), JOB.index("updated_at"))
SCHEDULE_TIMES = tuple(place for place, name in enumerate((*SCHEDULE, *REPORT)) if name in TIMES)
SCHEDULES = (
    "export_schedules list_schedules list_schedules_of find_schedules find_schedule due_schedules upcoming_schedules "
    "due_schedules_beside broken_schedules"
).split()
for schedules in SCHEDULES:
    TIME_COLUMNS[schedules] = SCHEDULE_TIMES
for event_query, columns in {
    **dict.fromkeys(
        ("waiting_events", "list_events", "list_events_of", "find_events", "export_events"), event_rows.EVENT
    ),
    **dict.fromkeys(("matches_of_event", "matches_of_subscriber", "export_matches"), event_rows.MATCH),
    **dict.fromkeys(("triggers", "list_triggers"), event_rows.TRIGGER),
    **dict.fromkeys(("endpoints", "find_endpoint", "list_endpoints"), event_rows.ENDPOINT),
    **dict.fromkeys(("note_failure", "note_success", "find_health", "all_health"), event_rows.HEALTH),
}.items():
    TIME_COLUMNS[event_query] = event_rows.time_places(columns)
TIME_COLUMNS |= service_rows.service_times()
for jobs in ("find_job", "list_jobs", "export_jobs"):
    TIME_COLUMNS[jobs] = JOB_TIMES


def _value(value: Any) -> Any:
    if isinstance(value, datetime):
        return to_micros(value)
    if isinstance(value, list):
        return msgspec.json.encode(value).decode()
    return value


class SqliteSession(Session):
    """Queries on one connection of the standard library."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, query: str, /, **values: Any) -> list[Row]:
        return self.execute(Statement(query, values))

    def execute(self, statement: Statement) -> list[Row]:
        if statement.query in ONLY_POSTGRES:
            return []
        values = {name: _value(value) for name, value in statement.values.items()}
        found: list[Row] = self._connection.execute(QUERIES[statement.query], values).fetchall()
        times = TIME_COLUMNS.get(statement.query)
        if times is None:
            return found
        return [[from_micros(value) if place in times else value for place, value in enumerate(row)] for row in found]

    def finish(self, ending: dict[str, Any]) -> list[Row]:
        gone: list[Row] = []
        if "well" in ending:
            gone += self._connection.execute(QUERIES["finish_well"], ending).fetchall()
        if "rows" in ending:
            gone += self._connection.execute(QUERIES["finish"], ending).fetchall()
        ids = msgspec.json.encode([row[0] for row in gone]).decode()
        self._connection.execute(QUERIES["remove_live"], {"ids": ids})
        return gone

    def insert(self, new: Sequence[NewRun]) -> None:
        self.insert_spelled(_spell_runs(new))

    def insert_spelled(self, spelled: tuple[str, Iterable[Sequence[Any]]]) -> None:
        self._connection.executemany(*spelled)

    def text_rows(self, sql: str, values: dict[str, Any]) -> list[Row]:
        among = "r.lane IN (SELECT value FROM json_each(:lanes))"
        # With a plus before it, a column leads to no index.
        text = place_columns(sql.replace(OF_LANES, among).replace(AMONG_LANES, f"+{among}"))
        return self._connection.execute(text, {name: _value(value) for name, value in values.items()}).fetchall()

    def follow_indexes(self) -> None:
        """Nothing: the statements themselves say by which way to go."""


def _spell_runs(new: Sequence[NewRun]) -> tuple[str, list[Sequence[Any]]]:
    """A statement, and a row for each run."""
    values = [_insert_values(request) for request in new]
    # Most runs use no more than the first columns, and a column left out costs nothing: 6.9 µs a row, not 11.3.
    if all(row[PLAIN:] == UNUSED for row in values):
        return INSERT_PLAIN, [row[:PLAIN] for row in values]
    columns = list(zip(*values, strict=True))
    used = [place for place, column in enumerate(columns) if place < PLAIN or set(column) - {None, 0}]
    return _insert(tuple(used)), list(zip(*(columns[place] for place in used), strict=True))


def _insert_values(new: NewRun) -> list[Any]:
    values = list(new_values(new))
    scheduled, created, updated = values[4:7]
    values[5] = number = to_micros(created)
    values[4] = number if scheduled is created else to_micros(scheduled)
    values[6] = number if updated is created else to_micros(updated)
    values[17] = to_micros(values[17])
    return values


def _json_rows(columns: Sequence[str], values: Sequence[Sequence[Any]]) -> str:
    times = [place for place, name in enumerate(columns) if name in TIMES]
    plain = []
    for row in values:
        line = list(row)
        for place in times:
            line[place] = to_micros(line[place])
        plain.append(line)
    return msgspec.json.encode(plain).decode()


class SqliteStore(SqlStore):
    """Jobs and runs in one file: nothing to install, and as durable as the disk."""

    engine = "sqlite"
    limits_need_rows = False  # one writes at a time

    def __init__(self, path: Path, clock: Clock | None = None, keep: Keep | None = None) -> None:
        super().__init__(clock or SystemClock(), keep or Keep())
        self.file = SqliteFile(path)
        self._checked = False

    def read(self, work: Callable[[Session], T]) -> T:
        with self.file.reader() as connection:
            return work(SqliteSession(connection))

    def write(self, work: Callable[[Session], T], *, first: bool = False) -> T:
        return self.file.write(lambda connection: work(SqliteSession(connection)), first=first)

    def _ensure_lanes(self, session: Session, lanes: Iterable[Lane]) -> None:
        now = self.clock.now()
        for lane in lanes:
            session.rows("add_lane", lane=lane.id, created_at=now, **msgspec.structs.asdict(lane))

    def _claim(
        self, session: Session, picks: Sequence[Pick], limit: int, worker: str, now: datetime, lease_until: datetime
    ) -> list[Row]:
        rule = MOVES[Move.START]
        values = {"worker": worker, "now": now, "lease_until": lease_until}
        values |= {"from_status": rule.sources[0].value, "to_status": rule.targets[0].value}
        found: list[Row] = []
        for pick in picks:
            quota = min(pick.quota, limit - len(found))
            if quota <= 0:
                break
            found += session.rows("claim", lane=pick.lane_id, rank=pick.rank, quota=quota, **values)
        return found

    def spell_field(self, field: Field, letter: str) -> tuple[str, dict[str, Any]]:
        return fields.spell(field, letter)

    def newest_of_lanes(self, session: Session, wanted: Sequence[Wanted], limit: int) -> Iterator[tuple[int, str]]:
        for lane, oldest in wanted:
            for row in session.rows("recent_of_lane", lane=lane, oldest=oldest, limit=limit):
                yield lane, row[0]

    def is_among(self, ids: str) -> str:
        return f"r.id IN ({ids})"

    def merge_lanes(self, newest: str) -> str:
        # Without LATERAL: what is in the list is known for each lane, and joined by CROSS in the order that is written.
        found = f"SELECT h.id FROM json_each(:lanes) AS lane CROSS JOIN workbell_history AS h WHERE h.id IN ({newest})"  # noqa: S608
        return f"{found} ORDER BY h.id DESC LIMIT :limit"

    def make_run(self, row: Row, lanes: Mapping[int, Lane]) -> Run:
        return run_with_micros(row, lanes)

    def spell_runs(self, new: Sequence[NewRun]) -> Any:
        return _spell_runs(new)

    def spell(self, columns: Sequence[str], values: Sequence[Sequence[Any]]) -> dict[str, Any]:
        return {"rows": _json_rows(columns, values)}

    def spell_ending(self, ending: Sequence[Transition]) -> dict[str, Any]:
        well = [
            (
                c.run_id,
                c.expected_token,
                to_micros(c.started_at),
                to_micros(c.finished_at),
                c.result_text,
                to_micros(c.remove_at),
            )
            for c in ending
            if c.move is Move.SUCCEED
        ]
        if not well:
            return super().spell_ending(ending)
        rule = MOVES[Move.SUCCEED]
        spelled = {"from_status": rule.sources[0].value, "to_status": rule.targets[0].value}
        spelled["well"] = msgspec.json.encode(well).decode()
        others = [change for change in ending if change.move is not Move.SUCCEED]
        return spelled | (super().spell_ending(others) if others else {})

    def renew(self, held: Sequence[Held], *, now: datetime, lease_until: datetime) -> list[Renewed]:
        return self.write(lambda session: self._renew(session, held, now, lease_until), first=True)

    def _renew(self, session: Session, held: Sequence[Held], now: datetime, lease_until: datetime) -> list[Renewed]:
        listed = [[lease.run_id, lease.token, RUNNING] for lease in held]
        found = session.rows("renew", rows=listed, taken=EPOCH, lease_until=lease_until)
        return [Renewed(*row) for row in found]

    def _take_over(self, session: Session, leases: Sequence[Lease], limit: int) -> list[Row]:
        seen = [[lease.run_id, lease.token, to_micros(lease.until)] for lease in leases[:limit]]
        return session.rows("take_over", rows=seen, taken=EPOCH, status=RUNNING)

    def _delete_finished(self, session: Session, now: datetime, limit: int) -> int:
        kept = len(session.rows("put_off", now=now, limit=limit))
        # Of those that were looked at, in the order of their index: beyond them there may be others that hold a key.
        gone = [row[0] for row in session.rows("delete_finished", now=now, limit=limit - kept)]
        if gone:
            session.rows("delete_attempts", ids=gone)
            session.rows("delete_logs", ids=gone)
        return kept + len(gone)

    def _delete_matches(self, session: Session, gone: Sequence[str]) -> None:
        session.rows("delete_matches", ids=list(gone))

    def _delete_reads(self, session: Session, gone: Sequence[str]) -> None:
        session.rows("delete_reads", ids=list(gone))

    # The caller's own transaction

    def add_event_on(self, connection: Any, event: Event) -> Added:
        return open_caller(connection, self.file.path).emit(event, _spell_all(statements_for_event(event)))

    async def aadd_event_on(self, connection: Any, event: Event) -> Added:
        caller = await open_async_caller(connection, self.file.path)
        return await caller.emit(event, _spell_all(statements_for_event(event)))

    def add_on(self, connection: Any, new: Sequence[NewRun]) -> list[Added]:
        caller = open_caller(connection, self.file.path)
        return caller.run(self._statements(new))

    async def aadd_on(self, connection: Any, new: Sequence[NewRun]) -> list[Added]:
        caller = await open_async_caller(connection, self.file.path)
        return await caller.run(self._statements(new))

    def _statements(self, new: Sequence[NewRun]) -> list[Request]:
        """Lanes are made in the caller's transaction too: another connection could not write beside it."""
        return [
            Request(request, making(request, self.replacing, []), _spell, _spell(_lane_of(request))) for request in new
        ]

    # Hints and housekeeping

    def watch(self) -> Watch:
        self.file.ready()
        return watch(self.file.path, self.file.connect())

    def wake(self) -> None:
        """Nothing to send: watchers see the log file change."""

    def limit_connections(self, count: int) -> None:
        """A file has no server that they could be too many for."""

    def tidy(self) -> None:
        self.file.checkpoint()

    def measure_time(self) -> None:
        if isinstance(self.clock, SystemClock):
            self.clock.measure(lambda: datetime.now(UTC))

    def check(self, *, joining: bool = False) -> None:
        if not self._checked:
            if joining and not self.file.may_make_tables():
                raise SchemaMismatch(
                    f"{self.file.path.name} has no tables of Workbell yet, and they cannot be made while a transaction "
                    "holds the file; run `workbell migrate` once, or call a verb such as bell.runs(limit=1) before the "
                    "transaction begins."
                )
            there = self.read(lambda session: migrate.check(migrate.SqliteSchema(session), self.file.path.name))
            if not there:
                self.migrate()
            self._checked = True

    def migrate(self) -> list[str]:
        done = self.write(lambda session: migrate.run(migrate.SqliteSchema(session)))
        self._checked = False
        return done

    def describe(self) -> list[tuple[str, str, str]]:
        version = sqlite3.sqlite_version
        if wal_reset_bug():
            found = (
                "note",
                "SQLite",
                f"{version} can lose data when a commit and a checkpoint overlap (fixed in 3.51.3). Workbell keeps "
                "them apart; do not open this file with programs that make checkpoints of their own.",
            )
        else:
            found = ("ok", "SQLite", version)
        size = self.file.path.stat().st_size if self.file.path.exists() else 0
        mode = self.read(lambda s: s.text_rows("SELECT * FROM pragma_journal_mode", {})[0][0])
        return [found, ("ok", "file", f"{self.file.path} ({size:,} bytes, {mode})"), _filesystem(self.file.path)]

    def close(self) -> None:
        self.file.close()


def _lane_of(request: NewRun) -> Statement:
    lane = request.run.lane
    parts = {"lane": lane.id, "created_at": request.run.created_at, **msgspec.structs.asdict(lane)}
    return Statement("add_lane", parts)


def _spell(statement: Statement) -> Spelled | None:
    """A statement as a caller's connection executes it."""
    if statement.query in ONLY_POSTGRES:
        return None
    return statement.query, QUERIES[statement.query], {k: _value(v) for k, v in statement.values.items()}


def _spell_all(statements: Iterable[Statement]) -> list[Spelled]:
    return [spelled for spelled in map(_spell, statements) if spelled is not None]


def _filesystem(path: Path) -> tuple[str, str, str]:
    """SQLite's locks cannot be trusted over a network."""
    try:
        mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    except OSError:
        return ("ok", "filesystem", "not known on this system")
    here = str(path.resolve())
    under = [m for m in mounts if here == m[1] or here.startswith(m[1].rstrip("/") + "/")]
    kind = max(under, key=lambda m: len(m[1]))[2] if under else "unknown"
    if kind in ("nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "glusterfs", "ceph"):
        return (
            "risk",
            "filesystem",
            f"{kind} is a network filesystem; move the file to a local disk or use PostgreSQL.",
        )
    return ("ok", "filesystem", kind)
