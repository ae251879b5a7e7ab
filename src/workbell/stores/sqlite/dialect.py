"""Dialect of SQLite: statements as the standard library executes them, and their answers. D1 and other engines that
speak it use the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

import msgspec

from workbell.model.input_fields import FieldFilter
from workbell.model.state import FINISHED, Transition
from workbell.stores.database import Row, Rows, Statement
from workbell.stores.queries import queries
from workbell.stores.reports.filters import AMONG_LANES, OF_LANES, SEARCH
from workbell.stores.rows import (
    NEW,
    RUN_COLUMNS,
    SUCCEED,
    TIMES,
    fill_columns,
    from_micros,
    run_with_micros,
    split_ends,
    started_with_micros,
    to_micros,
)
from workbell.stores.sqlite import fields

TEXTS = queries("sqlite")
QUERIES = {name: fill_columns(text) for name, text in TEXTS.items()}
# Their answers are runs, whose times are turned by rows.run_with_micros.
OF_RUNS = frozenset([SEARCH, *(name for name, text in TEXTS.items() if any(word in text for word in RUN_COLUMNS))])
PLAIN = NEW.index("input") + 1
UNUSED = [0 if name == "user_id" else None for name in NEW[PLAIN:]]  # defaults of the columns
EXPIRES = NEW.index("expires_at")


class BoundSqlite(NamedTuple):
    """A statement as SQLite takes it. `many`: its values are rows, for each of which it is executed."""

    query: str
    sql: str
    values: Any
    exactly: int | None = None
    many: bool = False


# Without an answer, which is a step for each row: that of a claim is read before it (see the query claimable), and for
# runs that succeeded their number is enough.
QUIETLY = {name: QUERIES[name].rpartition("RETURNING")[0] for name in ("claim", "finish_well")}
read_claimable = msgspec.json.Decoder(list[Any]).decode


class SqliteDialect:
    """See `Dialect`."""

    engine = "sqlite"
    one_writer = True
    most_statements = 10_000
    follow_indexes: Sequence[Statement] = ()  # the statements of a search name their index themselves

    def bind(self, statement: Statement) -> BoundSqlite:
        query, values, exactly, text = statement
        if text is not None:
            return BoundSqlite(query, self.in_lanes(text), bind_values(values), exactly)
        return BoundSqlite(query, QUERIES[query], bind_values(values), exactly)

    def bound(self, statement: Statement) -> Statement:
        return statement._replace(values=bind_values(statement.values))

    def time_columns(self, query: str, columns: Sequence[str]) -> list[int]:
        """Which columns of an answer are times; those of runs are left as they are, for `make_run`."""
        return [] if query in OF_RUNS else [index for index, name in enumerate(columns) if name in TIMES]

    def answer(self, query: str, columns: Sequence[str], found: list[Row]) -> list[Row]:
        """The rows of an answer with datetimes."""
        return with_times(found, self.time_columns(query, columns))

    make_run = staticmethod(run_with_micros)
    make_started = staticmethod(started_with_micros)

    def finish(self, ending: Sequence[Transition], *, whole: bool) -> list[Statement]:
        """Move ended runs from the live table into history. All of them or none, also where it need not be: then the
        runs asked for are in history, and are removed without another read (1 µs a run less)."""
        well, others = split_ends(ending)
        batch = []
        if well:
            values = SUCCEED | {"well": msgspec.json.encode(well).decode()}
            batch.append(Statement("finish_well", values, exactly=len(well)))
        if others:
            ended = Rows(FINISHED, [[getattr(change, name) for name in FINISHED] for change in others])
            batch.append(Statement("finish", {"rows": ended}, exactly=len(others)))
        return [*batch, Statement("remove_live", {"ids": [change.run_id for change in ending]})]

    def field_condition(self, field: FieldFilter, letter: str) -> tuple[str, dict[str, Any]]:
        return fields.condition_on(field, letter)

    def is_among(self, ids: str) -> str:
        return f"r.id IN ({ids})"

    def merge_lanes(self, newest: str) -> str:
        # Without LATERAL: what is in the list is known for each lane, and joined by CROSS in the order that is written.
        found = f"SELECT h.id FROM json_each(:lanes) AS lane CROSS JOIN workbell_history AS h WHERE h.id IN ({newest})"  # noqa: S608
        return f"{found} ORDER BY h.id DESC LIMIT :limit"

    def in_lanes(self, text: str) -> str:
        among = "r.lane IN (SELECT value FROM json_each(:lanes))"
        # With a plus before it, a column leads to no index.
        return fill_columns(text.replace(OF_LANES, among).replace(AMONG_LANES, f"+{among}"))


SQLITE = SqliteDialect()


def bind_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as SQLite takes them: times as numbers, lists and rows as JSON."""
    bound = dict(values)
    for name, value in values.items():
        if isinstance(value, datetime):
            bound[name] = to_micros(value)
        elif isinstance(value, list):
            bound[name] = msgspec.json.encode(value).decode()
        elif isinstance(value, Rows):
            bound[name] = _json_rows(*value)
    return bound


def with_times(found: list[Row], times: Sequence[int]) -> list[Row]:
    """Rows with datetimes in these columns."""
    if not times:
        return found
    return [[from_micros(value) if index in times else value for index, value in enumerate(row)] for row in found]


def _json_rows(columns: Sequence[str], values: Sequence[Sequence[Any]]) -> str:
    times = [index for index, name in enumerate(columns) if name in TIMES]
    plain = []
    for row in values:
        record = list(row)
        for index in times:
            record[index] = to_micros(record[index])
        plain.append(record)
    return msgspec.json.encode(plain).decode()


@cache
def _insert(used: tuple[int, ...]) -> str:
    """The statement for runs that use these columns."""
    names = ", ".join(NEW[index] for index in used)
    return f"INSERT INTO workbell_runs ({names}) VALUES ({', '.join('?' * len(used))})"  # noqa: S608


INSERT_PLAIN = _insert(tuple(range(PLAIN)))


def bind_runs(new: Sequence[Sequence[Any]]) -> BoundSqlite:
    """New runs (`new_values`), a row for each. Most use no more than the first columns, and a column left out costs
    nothing: 6.9 µs a row, not 11.3."""
    values = []
    for one in new:
        row = list(one)
        scheduled, created, updated = row[4:7]
        row[5] = number = to_micros(created)
        row[4] = number if scheduled is created else to_micros(scheduled)
        row[6] = number if updated is created else to_micros(updated)
        row[EXPIRES] = to_micros(row[EXPIRES])
        values.append(row)
    if all(row[PLAIN:] == UNUSED for row in values):
        return BoundSqlite("add_runs", INSERT_PLAIN, [row[:PLAIN] for row in values], many=True)
    columns = list(zip(*values, strict=True))
    used = [index for index, column in enumerate(columns) if index < PLAIN or set(column) - {None, 0}]
    rows = list(zip(*(columns[index] for index in used), strict=True))
    return BoundSqlite("add_runs", _insert(tuple(used)), rows, many=True)
