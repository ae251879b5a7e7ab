"""The SQLite database: batches of named statements on one file."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, TypeVar

import msgspec

from workbell.errors import SchemaMismatch, StoreError
from workbell.model.clock import Clock
from workbell.model.run import NewRun
from workbell.stores import migrate
from workbell.stores.database import Batch, Conflict, Row, Rows, Statement
from workbell.stores.filters import AMONG_LANES, OF_LANES
from workbell.stores.queries import queries
from workbell.stores.rows import NEW, RUN_COLUMNS, TIMES, new_values, place_columns
from workbell.stores.session import Session
from workbell.stores.sqlite.file import SqliteFile
from workbell.stores.times import from_micros, to_micros

T = TypeVar("T")

TEXTS = queries("sqlite")
QUERIES = {name: place_columns(text) for name, text in TEXTS.items()}
# Their answers are runs, whose times are turned by rows.run_with_micros.
OF_RUNS = frozenset(name for name, text in TEXTS.items() if any(word in text for word in RUN_COLUMNS))
ONLY_POSTGRES = frozenset({"lock_tag"})  # one writes at a time here
PLAIN = NEW.index("input") + 1
UNUSED = [0 if name == "user_id" else None for name in NEW[PLAIN:]]  # what the columns hold if nothing is said


@cache
def _insert(used: tuple[int, ...]) -> str:
    """The statement for runs that use these columns."""
    names = ", ".join(NEW[place] for place in used)
    return f"INSERT INTO workbell_runs ({names}) VALUES ({', '.join('?' * len(used))})"  # noqa: S608


INSERT_PLAIN = _insert(tuple(range(PLAIN)))
_times_of: dict[str, tuple[int, ...]] = {}  # by query, as SQLite names the columns of its answer


def time_places(columns: Sequence[Sequence[Any]] | None) -> tuple[int, ...]:
    """Which columns of an answer are times: they are known by their names."""
    return tuple(place for place, column in enumerate(columns or ()) if column[0] in TIMES)


def _value(value: Any) -> Any:
    if isinstance(value, datetime):
        return to_micros(value)
    if isinstance(value, list):
        return msgspec.json.encode(value).decode()
    if isinstance(value, Rows):
        return _json_rows(*value)
    return value


def bind(values: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as SQLite takes them: times as numbers, lists and rows as JSON."""
    return {name: _value(value) for name, value in values.items()}


class SqliteSession(Session):
    """Queries on one connection of the standard library."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, query: str, /, **values: Any) -> list[Row]:
        return self.execute(Statement(query, values))

    def execute(self, statement: Statement) -> list[Row]:
        return self.execute_bound(statement.query, bind(statement.values))

    def execute_bound(self, query: str, values: dict[str, Any]) -> list[Row]:
        if query in ONLY_POSTGRES:
            return []
        cursor = self._connection.execute(QUERIES[query], values)
        found: list[Row] = cursor.fetchall()
        times = _times_of.get(query)
        if times is None:
            times = _times_of[query] = () if query in OF_RUNS else time_places(cursor.description)
        if not times:
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
        self.insert_spelled(bind_runs(new))

    def insert_spelled(self, spelled: tuple[str, Iterable[Sequence[Any]]]) -> None:
        self._connection.executemany(*spelled)

    def text_rows(self, sql: str, values: dict[str, Any]) -> list[Row]:
        among = "r.lane IN (SELECT value FROM json_each(:lanes))"
        # With a plus before it, a column leads to no index.
        text = place_columns(sql.replace(OF_LANES, among).replace(AMONG_LANES, f"+{among}"))
        return self._connection.execute(text, bind(values)).fetchall()

    def follow_indexes(self) -> None:
        """Nothing: the statements themselves say by which way to go."""


def bind_runs(new: Sequence[NewRun]) -> tuple[str, list[Sequence[Any]]]:
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


class SqliteDatabase:
    """One file, as the parts of a store see it."""

    engine = "sqlite"

    def __init__(self, file: SqliteFile, clock: Clock) -> None:
        self.file = file
        self.clock = clock
        self._is_ready = False

    def read(self, batch: Batch) -> list[list[Row]]:
        self.ready()
        return self.run_read(lambda session: [session.execute(statement) for statement in batch])

    def write(self, batch: Batch) -> list[list[Row]]:
        self.ready()
        bound = [(query, bind(values)) for query, values in batch]  # before the lock is taken
        try:
            return self.file.write(lambda connection: [SqliteSession(connection).execute_bound(*one) for one in bound])
        except StoreError as error:
            if isinstance(error.__cause__, sqlite3.IntegrityError):
                raise Conflict(str(error)) from error
            raise

    def run_read(self, work: Callable[[Session], T]) -> T:
        with self.file.reader() as connection:
            return work(SqliteSession(connection))

    def run_write(self, work: Callable[[Session], T], *, first: bool = False) -> T:
        return self.file.write(lambda connection: work(SqliteSession(connection)), first=first)

    def wake(self) -> None:
        """Nothing to send: watchers see the log file change."""

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
        if not self.run_read(lambda session: migrate.check(migrate.SqliteSchema(session), self.file.path.name)):
            self.migrate()
        self._is_ready = True

    def migrate(self) -> list[str]:
        done = self.run_write(lambda session: migrate.run(migrate.SqliteSchema(session)))
        self._is_ready = False
        return done
