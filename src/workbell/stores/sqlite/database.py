"""The SQLite database: batches of named statements on one file."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from workbell.errors import SchemaMismatch, StoreError
from workbell.model.clock import EPOCH, Clock, SystemClock
from workbell.model.ids import FIRST_ID, first_id_at, time_of
from workbell.model.rewind import StorePosition
from workbell.process.platform import platform
from workbell.stores.callers import AsyncCaller, Caller
from workbell.stores.database import Batch, Conflict, Row, Statement, Tables, conflict
from workbell.stores.port import StoreWatch
from workbell.stores.session import Session
from workbell.stores.sqlite.callers import open_async_caller, open_caller
from workbell.stores.sqlite.dialect import (
    QUERIES,
    QUIETLY,
    SQLITE,
    BoundSqlite,
    bind_runs,
    read_claimable,
    with_times,
)
from workbell.stores.sqlite.file import SqliteFile, wal_reset_bug
from workbell.stores.sqlite.tables import SqliteTables
from workbell.stores.sqlite.watch import GuardedWatch, watch

T = TypeVar("T")

_times: dict[str, Sequence[int]] = {}  # which columns of the answers to queries are times


def _execute(batch: Sequence[BoundSqlite], connection: sqlite3.Connection) -> list[list[Row]]:
    answers: list[list[Row]] = []
    for query, sql, values, exactly, many in batch:
        if many:
            connection.executemany(sql, values)
            answers.append([])
            continue
        if query in QUIETLY:
            answers.append(_execute_quietly(connection, query, values, exactly))
            continue
        cursor = connection.execute(sql, values)
        found: list[Row] = cursor.fetchall()
        if exactly is not None and len(found) != exactly:
            raise conflict(query, len(found), exactly)
        times = _times.get(query)
        if times is None:
            times = _times[query] = SQLITE.time_columns(query, [column[0] for column in cursor.description or ()])
        answers.append(with_times(found, times) if times else found)
    return answers


def _execute_quietly(connection: sqlite3.Connection, query: str, values: Any, exactly: int | None) -> list[Row]:
    """A claim, or runs that succeeded. Within a transaction that writes nobody comes between a claim and its answer."""
    found: list[Row] = []
    if query == "claim":
        found = read_claimable(connection.execute(QUERIES["claimable"], values).fetchone()[0])
        if not found:
            return found
    count = connection.execute(QUIETLY[query], values).rowcount
    if exactly is not None and count != exactly:
        raise conflict(query, count, exactly)
    return found


class SqliteSession(Session):
    """Queries on one connection of the standard library."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, query: str, /, **values: Any) -> list[Row]:
        return self.execute(Statement(query, values))

    def execute(self, statement: Statement) -> list[Row]:
        return _execute([SQLITE.bind(statement)], self._connection)[0]

    def text_rows(self, sql: str, values: dict[str, Any]) -> list[Row]:
        bound = SQLITE.bind(Statement("", values, text=sql))
        return self._connection.execute(bound.sql, bound.values).fetchall()


class SqliteDatabase:
    """One file, as the parts of a store see it."""

    dialect = SQLITE
    connections = 1  # that write at the same time

    def __init__(self, file: SqliteFile, clock: Clock) -> None:
        self.file = file
        self.clock = clock
        self._tables = SqliteTables(self._read, self._write)
        self._is_ready = False

    def read(self, batch: Batch) -> list[list[Row]]:
        if not self._is_ready:
            self.ready()
        return self._read(batch)

    def _read(self, batch: Batch) -> list[list[Row]]:
        with self.file.reader() as connection:
            return _execute([SQLITE.bind(statement) for statement in batch], connection)

    def write(self, batch: Batch, *, first: bool = False, lock: float | None = None) -> list[list[Row]]:
        if not self._is_ready:
            self.ready()
        return self._write(batch, first)

    def _write(self, batch: Batch, first: bool = False) -> list[list[Row]]:
        bound = [  # before the write lock is taken
            bind_runs(one.values["rows"].values) if one.query == "add_runs" else SQLITE.bind(one) for one in batch
        ]
        try:
            return self.file.write(partial(_execute, bound), first=first)
        except StoreError as error:
            if isinstance(error.__cause__, sqlite3.IntegrityError):
                raise Conflict(str(error)) from error
            raise

    def run_read(self, work: Callable[[Session], T]) -> T:
        with self.file.reader() as connection:
            return work(SqliteSession(connection))

    def run_write(self, work: Callable[[Session], T], *, first: bool = False) -> T:
        return self.file.write(lambda connection: work(SqliteSession(connection)), first=first)

    def borrow(self, connection: Any) -> Caller:
        self.file.check()
        return open_caller(connection, self.file.path)

    async def aborrow(self, connection: Any) -> AsyncCaller:
        self.file.check()
        return await open_async_caller(connection, self.file.path)

    hints = True

    def watch(self) -> StoreWatch:
        self.file.ready()
        return GuardedWatch(watch(self.file.path, self.file.connect()), self.file.look)

    def wake(self) -> None:
        """Nothing to send: watchers see the log file change."""

    def wake_later(self) -> None:
        """Nothing to send either."""

    def limit_connections(self, count: int) -> None:
        """A file has no server that they could be too many for."""

    def tidy(self) -> None:
        self.file.checkpoint()

    def measure_time(self) -> None:
        if isinstance(self.clock, SystemClock):
            self.clock.measure(lambda: datetime.now(UTC))

    def position(self) -> StorePosition | None:
        """The identity, which a restore renews, and the time of the newest run, which an older copy does not have."""
        latest = first_id_at(self.clock.now() + timedelta(minutes=1))  # ids that callers chose may lie beyond
        meta, newest = self.read(
            [Statement("store_identity"), Statement("newest_run", {"first": FIRST_ID, "latest": latest})]
        )
        identity = "/".join(value for name, value in sorted(map(tuple, meta)) if name != "checkpoints")
        return StorePosition(identity, place=int((time_of(newest[0][0]) - EPOCH).total_seconds() * 1000))

    def ready(self, *, joining: bool = False) -> None:
        """Check the tables, once; make them if there are none."""
        if self._is_ready:
            return
        if joining and not self.file.may_make_tables():
            raise SchemaMismatch(
                f"{self.file.path.name} has no tables of Workbell yet, and they cannot be made while a transaction "
                "holds the file; run `workbell migrate` once, or call a verb such as bell.runs(limit=1) before the "
                "transaction begins."
            )
        if not self._tables.check(self.file.path.name):
            self.migrate()
        self._is_ready = True

    def tables(self) -> Tables | None:
        return self._tables.read()

    def migrate(self) -> list[str]:
        done = self._tables.migrate()
        self._is_ready = False
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
        mode = self.run_read(lambda session: session.text_rows("SELECT * FROM pragma_journal_mode", {})[0][0])
        return [found, ("ok", "file", f"{self.file.path} ({size:,} bytes, {mode})"), _filesystem(self.file.path)]

    def close(self) -> None:
        self.file.close()


def _filesystem(path: Path) -> tuple[str, str, str]:
    """SQLite's locks cannot be trusted over a network."""
    unknown = ("ok", "filesystem", "not known on this system")
    if not platform().proc:
        return unknown
    try:
        mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    except OSError:
        return unknown
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
