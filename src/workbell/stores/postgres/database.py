"""The PostgreSQL database: a batch of named statements is one transaction, on a pooled connection."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

import psycopg

from workbell.errors import StoreError, StoreUnavailable
from workbell.model.clock import Clock, SystemClock
from workbell.model.rewind import StorePosition
from workbell.process.verb_threads import on_own_thread
from workbell.stores import migrate
from workbell.stores.callers import AsyncCaller, Caller
from workbell.stores.database import Batch, Conflict, Locked, Row, Statement, Tables, check_count
from workbell.stores.port import StoreWatch
from workbell.stores.postgres import calls
from workbell.stores.postgres.callers import open_async_caller, open_caller
from workbell.stores.postgres.calls import Calls
from workbell.stores.postgres.connections import Connection
from workbell.stores.postgres.copy_text import copy_rows
from workbell.stores.postgres.dialect import POSTGRES, QUERIES
from workbell.stores.postgres.hints import LATER, HintSender
from workbell.stores.postgres.listener import Listener, ListenWatch
from workbell.stores.postgres.sessions import shown
from workbell.stores.postgres.translation import Busy
from workbell.stores.queries import migrations
from workbell.stores.rows import NEW
from workbell.stores.session import Session

T = TypeVar("T")

log = logging.getLogger("workbell.store")

CONNECTIONS = 5  # of one process, by default: one of them listens
AT_ONCE = 2  # connections that stay open for an engine: one claims while another books
WAITS_FOR_NOTHING = frozenset({"renew"})  # rows that are locked are passed over
MIGRATION = 3600.0  # seconds to bring the tables up to date: an index of a long history may be among it
TABLE_LOCK_SECONDS = 300.0  # how long to try that while others lock the tables
PAUSE = 3.0  # seconds between two tries, in which statements that queued behind the first can run


class PostgresSession(Session):
    """Queries on one psycopg connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def rows(self, query: str, /, **values: Any) -> list[Row]:
        return self.execute(Statement(query, values))

    def execute(self, statement: Statement) -> list[Row]:
        return _execute(self._connection, _bind(statement))

    def text_rows(self, sql: str, values: dict[str, Any]) -> list[Row]:
        return _fetch(self._connection, *POSTGRES.bind(Statement("", values, text=sql)))


class BoundStatement(NamedTuple):
    """A statement with its parameters bound: SQL, or columns and rows to be copied into the runs."""

    statement: Statement
    sql: str = ""
    values: Mapping[str, Any] = {}
    copied: tuple[list[str], bytes] | None = None


def _bind(statement: Statement) -> BoundStatement:
    if statement.query == "add_runs":
        new = statement.values["rows"].values
        if len(new) == 1:
            return BoundStatement(statement, QUERIES["add_run"], dict(zip(NEW, new[0], strict=True)))
        return BoundStatement(statement, copied=copy_rows(new))
    return BoundStatement(statement, *POSTGRES.bind(statement))


def _fetch(connection: Connection, sql: str, values: Mapping[str, Any]) -> list[Row]:
    cursor = connection.execute(sql, values)
    return cursor.fetchall() if cursor.description else []


def _copy(connection: Connection, columns: list[str], rows: bytes) -> None:
    with connection.cursor().copy(f"COPY workbell_runs ({', '.join(columns)}) FROM STDIN") as copy:
        copy.write(rows)


def _send(connection: Connection, batch: Sequence[BoundStatement]) -> list[list[Row]]:
    """A batch in one round trip, where it can be: nothing can be copied into a table within a pipeline."""
    if len(batch) == 1 or any(one.copied is not None for one in batch):
        return [_execute(connection, one) for one in batch]
    with connection.pipeline():
        cursors = [connection.execute(one.sql, one.values) for one in batch]
    answers = [cursor.fetchall() if cursor.description else [] for cursor in cursors]
    for one, found in zip(batch, answers, strict=True):
        check_count(one.statement, found)
    return answers


def _execute(connection: Connection, bound: BoundStatement) -> list[Row]:
    statement, sql, values, copied = bound
    if copied is not None:
        _copy(connection, *copied)
        return []
    found = _fetch(connection, sql, values)
    check_count(statement, found)
    return found


class PostgresDatabase:
    """One server, as the parts of a store see it."""

    dialect = POSTGRES

    def __init__(self, url: str, clock: Clock, connections: int = CONNECTIONS) -> None:
        self.calls = Calls(url, size=_besides_listening(connections))
        self.clock = clock
        self._notifier = HintSender(self.calls)
        self._listener = Listener(self.calls)
        self._store_id = ""
        self._is_ready = False
        self._position_queries = ["position", "position_by_file"]

    @property
    def connections(self) -> int:
        """Connections on which this process writes at the same time."""
        return self.calls.size

    def limit_connections(self, count: int) -> None:
        self.calls.resize(_besides_listening(count))

    def read(self, batch: Batch) -> list[list[Row]]:
        if not self._is_ready:
            self.ready()
        bound = [_bind(statement) for statement in batch]
        return self.calls.run(lambda connection: self._execute(connection, bound), transaction=False)

    def write(self, batch: Batch, *, first: bool = False, lock: float | None = None) -> list[list[Row]]:
        """One statement is a transaction by itself, without the round trips of BEGIN and COMMIT."""
        if not self._is_ready:
            self.ready()
        bound = [_bind(statement) for statement in batch]
        apart = len(batch) != 1 or lock is not None or batch[0].exactly is not None

        def work(connection: Connection) -> list[list[Row]]:
            return self._execute(connection, bound)

        try:
            if first and not apart and batch[0].query in WAITS_FOR_NOTHING:
                return self._write_at_once(work)
            return self.calls.run(work, transaction=apart, lock=lock, first=first)
        except StoreError as error:
            if isinstance(error.__cause__, psycopg.errors.UniqueViolation):
                raise Conflict(str(error)) from error
            if isinstance(error.__cause__, psycopg.errors.LockNotAvailable):
                raise Locked(str(error)) from error
            raise

    def _execute(self, connection: Connection, batch: Sequence[BoundStatement]) -> list[list[Row]]:
        """To a server on this machine a pipeline is slower (3 statements: 0.85 instead of 0.77 ms of computing)."""
        if self.calls.is_distant:
            return _send(connection, batch)
        return [_execute(connection, one) for one in batch]

    def _write_at_once(self, work: Callable[[Connection], T]) -> T:
        """Write on the listening connection if all others are busy: a lease must not end because others wait."""
        with suppress(Busy):
            return self.calls.run(work, transaction=False, first=True, pool_wait=0)
        done = self._listener.run(work)
        return self.calls.run(work, transaction=False, first=True) if done is None else done

    def run_read(self, work: Callable[[Session], T]) -> T:
        return self.calls.run(lambda c: work(PostgresSession(c)), transaction=False)

    def run_write(self, work: Callable[[Session], T], *, first: bool = False) -> T:
        return self.calls.run(lambda c: work(PostgresSession(c)), transaction=True, first=first)

    def borrow(self, connection: Any) -> Caller:
        return open_caller(connection, self._identity())

    async def aborrow(self, connection: Any) -> AsyncCaller:
        # It may have to read from the database on a connection of ours, which must not block the event loop.
        identity = self._store_id or await on_own_thread("store-id", self._identity)
        return await open_async_caller(connection, identity)

    def _identity(self) -> str:
        if not self._store_id:
            self._store_id = self.read([Statement("store_id")])[0][0][0]
        return self._store_id

    @property
    def hints(self) -> bool:
        return self.calls.can_listen

    def watch(self) -> StoreWatch:
        self.calls.fill(min(AT_ONCE, self.calls.size))
        return ListenWatch(self._listener)

    def wake(self) -> None:
        self._notifier.send()

    def wake_later(self) -> None:
        self._notifier.send_later(LATER)

    def tidy(self) -> None:
        """End transactions that a frozen process left open where no timeout does. Autovacuum is set on the tables."""
        self.read([Statement("end_stuck", {"seconds": calls.DEADLINE})])

    def measure_time(self) -> None:
        def ask() -> datetime:
            found: datetime = self.read([Statement("time")])[0][0][0]
            return found

        if isinstance(self.clock, SystemClock):
            self.clock.measure(ask)

    def position(self) -> StorePosition | None:
        """None on a standby, and where neither query is allowed. A query that was refused is not sent again."""
        while self._position_queries:
            try:
                row = self.read([Statement(self._position_queries[0])])[0][0]
            except StoreUnavailable:
                raise
            except StoreError as error:
                refused = self._position_queries.pop(0)
                log.info("%s: %s is refused here (%s)", self.calls.name, refused, error)
                continue
            cluster, database, file, segment, place, server_start = row
            if segment is None:
                return None
            return StorePosition(f"{cluster}/{database}/{file}", int(segment[:8], 16), place, server_start)
        return None

    def ready(self, *, joining: bool = False) -> None:
        """Check the tables, once; make them if there are none."""
        if not self._is_ready:
            there = self.run_read(lambda session: migrate.check(migrate.PostgresSchema(session), self.calls.name))
            if not there:
                self.migrate()
            self._is_ready = True

    def tables(self) -> Tables | None:
        return self.run_read(lambda session: migrate.read_tables(migrate.PostgresSchema(session)))

    def migrate(self) -> list[str]:
        """Apply missing migrations. Where others lock a table it waits for `LOCK` seconds, lets the statements that
        queued behind it run, and tries again."""
        give_up_at = self.clock.monotonic() + TABLE_LOCK_SECONDS
        is_logged = False
        while True:
            try:
                done = self.calls.run(_migrate, transaction=True, deadline=MIGRATION, lock=0)
                self._is_ready = False
                return done
            except StoreUnavailable as error:
                if not isinstance(error.__cause__, psycopg.errors.LockNotAvailable):
                    raise
                where, holders = f"PostgreSQL at {self.calls.name}", self._table_holders()
                if self.clock.monotonic() >= give_up_at:
                    raise StoreUnavailable(
                        f"{where}: the tables could not be changed within {TABLE_LOCK_SECONDS:g} s, because another "
                        f"transaction holds them: {holders}. Wait until it ends, or end it with "
                        "`SELECT pg_terminate_backend(pid)`; then repeat `workbell migrate`."
                    ) from error
                if not is_logged:
                    log.warning("%s: migrating waits for another transaction to end: %s", where, holders)
                    is_logged = True
            time.sleep(PAUSE)

    def _table_holders(self) -> str:
        tables = sorted({table for _, _, text in migrations(self.dialect.engine) for table in migrate.altered(text)})
        found = self.run_read(lambda session: session.rows("table_holders", tables=tables, seconds=migrate.LOCK / 2))
        listed = [_holder(*row) for row in found]
        return "; ".join(listed) or "it is over meanwhile"

    def describe(self) -> list[tuple[str, str, str]]:
        wanted = ("server_version", "fsync", "synchronous_commit", "full_page_writes")
        query = "SELECT name, setting FROM pg_settings WHERE name = ANY(:wanted)"
        found = dict(self.run_read(lambda s: [tuple(row) for row in s.text_rows(query, {"wanted": list(wanted)})]))
        place = self.calls.name
        if "," in place:  # of several hosts
            host, port = self.calls.run(lambda c: (c.info.host, c.info.port), transaction=False)
            place += f", now on {host}:{port}"
        findings = [("ok", "PostgreSQL", f"{found['server_version']} at {place}")]
        for name in wanted[1:]:
            level = "risk" if found[name] == "off" else "ok"
            text = "off: a crash can lose runs that were accepted" if level == "risk" else found[name]
            findings.append((level, name, text))
        findings += self._describe_replication()
        if self.calls.is_pooled:
            findings.append(_about_pooler(self.calls.can_listen))
        return findings

    def _describe_replication(self) -> list[tuple[str, str, str]]:
        try:
            ((is_standby, names, followers, confirming),) = self.run_read(lambda session: session.rows("replication"))
        except StoreUnavailable:
            raise
        except StoreError:  # some operators take the right to read the view from everybody
            return [
                ("note", "replication", "not visible to this role; `GRANT SELECT ON pg_stat_replication` shows it.")
            ]
        return _about_replication(is_standby, names, followers, confirming)

    def close(self) -> None:
        self._notifier.close()
        self.calls.close()


def _about_replication(
    is_standby: bool, names: str, followers: int, confirming: int | None
) -> list[tuple[str, str, str]]:
    """`confirming`: how many of the followers confirm a commit; None if this user may not know."""
    level, text = "ok", ""
    if is_standby:
        level = "risk"
        text = (
            "this server is a standby, which can only be read; name its primary in the URL, or all hosts: host1,host2"
        )
    elif names and confirming == 0:
        level = "risk"
        text = (
            f"synchronous ({names}), and no such standby follows: commits wait, and calls end with StoreUnavailable; "
            "start the standby, or change `synchronous_standby_names`"
        )
    elif names:
        text = f"synchronous ({names}): a failover loses nothing that was acknowledged"
    elif followers:
        text = f"asynchronous, {followers} following: a failover can lose the last commits"
    return [(level, "replication", text)] if text else []


def _about_pooler(can_listen: bool) -> tuple[str, str, str]:
    if can_listen:
        return "ok", "pooler", "one is in between, in session mode: the store's hints pass"
    return (
        "note",
        "pooler",
        "one is in between: the store's hints do not pass, so what is new is found when processes poll; a Redis queue "
        "wakes workers at once, and `?pooler=session` in the URL says that its pooler keeps sessions.",
    )


def _besides_listening(connections: int) -> int:
    """Connections beside the one for hints."""
    return max(connections - 1, 1)


def _migrate(connection: Connection) -> list[str]:
    return migrate.run(migrate.PostgresSchema(PostgresSession(connection)))


def _holder(pid: int, application: str, state: str, seconds: Any, query: str) -> str:
    text = f"pid {pid} ({application or 'no name'}, {state or 'unknown'}, open for {float(seconds):.0f} s)"
    statement = shown(query)
    return f"{text}: {statement}" if statement else text
