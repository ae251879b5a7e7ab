"""The PostgreSQL database: batches of named statements over a pool of connections."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import psycopg

from workbell.errors import StoreError, StoreUnavailable
from workbell.model.clock import Clock
from workbell.model.run import NewRun
from workbell.stores import migrate
from workbell.stores.database import Batch, Conflict, Row, Rows, Statement
from workbell.stores.filters import AMONG_LANES, OF_LANES
from workbell.stores.postgres.arrays import array_text
from workbell.stores.postgres.calls import Calls
from workbell.stores.postgres.connections import Connection
from workbell.stores.postgres.copy_text import copy_lines
from workbell.stores.postgres.hints import Notifier
from workbell.stores.postgres.sessions import shown
from workbell.stores.queries import migrations, queries, spell_postgres
from workbell.stores.rows import NEW, new_values, place_columns
from workbell.stores.session import Session

T = TypeVar("T")

log = logging.getLogger("workbell.store")

QUERIES = {name: spell_postgres(place_columns(text)) for name, text in queries("postgres").items()}
MIGRATION = 3600.0  # seconds to bring the tables up to date: an index of a long history may be among it
PATIENCE = 300.0  # seconds to try that, while others hold the tables
PAUSE = 3.0  # seconds between two tries: those who queued up behind the first are let pass
# How PostgreSQL is told to go by indexes. Until a table is analysed, it knows only how large that is, and sorts a
# million rows to have fifty of them. Once it is, it takes a value to be spread evenly, and walks along the ids for the
# runs of a job that are all old (1.6 s). Where pages cost nothing, what leads to the fewest rows is always cheapest.
# Compiling is off because what is ruled out still counts as dear.
FOLLOWING = {"enable_seqscan": "off", "enable_bitmapscan": "off", "enable_sort": "off", "jit": "off"}
FOLLOWING |= {"random_page_cost": "0", "seq_page_cost": "0"}
FOLLOW_INDEXES = "SELECT " + ", ".join(f"set_config('{name}', '{value}', true)" for name, value in FOLLOWING.items())
ONLY_SQLITE = frozenset({"remove_canceled", "free_replaced_keys", "delete_reads"})  # one statement does all of it here


def bind(values: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as psycopg takes them: rows as one array for each column."""
    bound: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Rows):
            bound |= zip(value.columns, map(array_text, zip(*value.values, strict=True)), strict=True)
        else:
            bound[name] = value
    return bound


class PostgresSession(Session):
    """Queries on one psycopg connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def rows(self, query: str, /, **values: Any) -> list[Row]:
        return self.execute(Statement(query, values))

    def execute(self, statement: Statement) -> list[Row]:
        if statement.query in ONLY_SQLITE:
            return []
        return self._fetch(QUERIES[statement.query], bind(statement.values))

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


class PostgresDatabase:
    """One server, as the parts of a store see it."""

    engine = "postgres"

    def __init__(self, calls: Calls, notifier: Notifier, clock: Clock) -> None:
        self.calls = calls
        self.clock = clock
        self._notifier = notifier
        self._is_ready = False

    def read(self, batch: Batch) -> list[list[Row]]:
        self.ready()
        return self.run_read(lambda session: [session.execute(statement) for statement in batch])

    def write(self, batch: Batch) -> list[list[Row]]:
        """One statement is a transaction by itself, without the round trips of BEGIN and COMMIT."""
        self.ready()

        def work(connection: Connection) -> list[list[Row]]:
            session = PostgresSession(connection)
            return [session.execute(statement) for statement in batch]

        try:
            return self.calls.run(work, transaction=len(batch) > 1)
        except StoreError as error:
            if isinstance(error.__cause__, psycopg.errors.UniqueViolation):
                raise Conflict(str(error)) from error
            raise

    def run_read(self, work: Callable[[Session], T]) -> T:
        return self.calls.run(lambda c: work(PostgresSession(c)), transaction=False)

    def run_write(self, work: Callable[[Session], T], *, first: bool = False) -> T:
        return self.calls.run(lambda c: work(PostgresSession(c)), transaction=True, first=first)

    def wake(self) -> None:
        self._notifier.send()

    def ready(self) -> None:
        """Check the tables, once; make them if there are none."""
        if not self._is_ready:
            there = self.run_read(lambda session: migrate.check(migrate.PostgresSchema(session), self.calls.name))
            if not there:
                self.migrate()
            self._is_ready = True

    def migrate(self) -> list[str]:
        """Applies what is missing. Where others hold a table it waits for a moment, lets pass whoever has queued up
        behind it, and tries again."""
        give_up_at = self.clock.monotonic() + PATIENCE
        is_told = False
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
        found = self.run_read(lambda session: session.rows("table_holders", tables=tables, seconds=migrate.LOCK / 2))
        listed = [_holder(*row) for row in found]
        return "; ".join(listed) or "it is over meanwhile"


def _migrate(connection: Connection) -> list[str]:
    return migrate.run(migrate.PostgresSchema(PostgresSession(connection)))


def _holder(pid: int, application: str, state: str, seconds: Any, query: str) -> str:
    text = f"pid {pid} ({application or 'no name'}, {state or 'unknown'}, open for {float(seconds):.0f} s)"
    statement = shown(query)
    return f"{text}: {statement}" if statement else text
