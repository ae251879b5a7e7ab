"""The SQLite store: the shared verbs over one file."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from workbell.model.clock import EPOCH, Clock, SystemClock
from workbell.model.event import Event
from workbell.model.payload_fields import Field
from workbell.model.run import Added, Lane, NewRun, Run
from workbell.model.state import MOVES, Keep, Move, Transition
from workbell.stores.callers import Request, Spelled
from workbell.stores.database import Row, Rows, Statement
from workbell.stores.port import Held, Lease, Pick, Renewed, Watch
from workbell.stores.rows import run_with_micros
from workbell.stores.session import Session
from workbell.stores.sql_events import statements_for_event
from workbell.stores.sql_recent import Wanted
from workbell.stores.sql_store import SqlStore
from workbell.stores.sqlite import fields
from workbell.stores.sqlite.callers import open_async_caller, open_caller
from workbell.stores.sqlite.database import ONLY_POSTGRES, QUERIES, SqliteDatabase, bind, bind_runs
from workbell.stores.sqlite.file import SqliteFile, wal_reset_bug
from workbell.stores.sqlite.watch import watch
from workbell.stores.statements import making
from workbell.stores.times import to_micros

T = TypeVar("T")

RUNNING = MOVES[Move.START].targets[0].value


class SqliteStore(SqlStore):
    """Jobs and runs in one file: nothing to install, and as durable as the disk."""

    engine = "sqlite"
    limits_need_rows = False  # one writes at a time

    def __init__(self, path: Path | SqliteFile, clock: Clock | None = None, keep: Keep | None = None) -> None:
        self.file = path if isinstance(path, SqliteFile) else SqliteFile(path)
        self.database = SqliteDatabase(self.file, clock or SystemClock())
        super().__init__(self.database, keep or Keep())

    def read(self, work: Callable[[Session], T]) -> T:
        self.database.ready()
        return self.database.run_read(work)

    def write(self, work: Callable[[Session], T], *, first: bool = False) -> T:
        self.database.ready()
        return self.database.run_write(work, first=first)

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
        return bind_runs(new)

    def spell(self, columns: Sequence[str], values: Sequence[Sequence[Any]]) -> dict[str, Any]:
        return bind({"rows": Rows(columns, values)})

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
        self.database.wake()

    def limit_connections(self, count: int) -> None:
        """A file has no server that they could be too many for."""

    def tidy(self) -> None:
        self.file.checkpoint()

    def measure_time(self) -> None:
        if isinstance(self.clock, SystemClock):
            self.clock.measure(lambda: datetime.now(UTC))

    def check(self, *, joining: bool = False) -> None:
        self.database.ready(joining=joining)

    def migrate(self) -> list[str]:
        return self.database.migrate()

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
    return statement.query, QUERIES[statement.query], bind(statement.values)


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
