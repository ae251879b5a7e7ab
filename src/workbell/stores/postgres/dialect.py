"""Dialect of PostgreSQL: statements as psycopg executes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workbell.model.input_fields import FieldFilter
from workbell.model.state import FINISHED, Transition
from workbell.stores.database import Rows, Statement
from workbell.stores.postgres import fields
from workbell.stores.postgres.arrays import array_text
from workbell.stores.queries import psycopg_parameters, queries
from workbell.stores.reports.filters import AMONG_LANES, OF_LANES
from workbell.stores.rows import ENDED_WELL, SUCCEED, fill_columns, run_with_times, split_ends, started_with_times

QUERIES = {name: psycopg_parameters(fill_columns(text)) for name, text in queries("postgres").items()}


class PostgresDialect:
    """See `Dialect`."""

    engine = "postgres"
    one_writer = False
    most_statements = 10_000
    follow_indexes: Sequence[Statement] = (Statement("follow_indexes"),)

    def bind(self, statement: Statement) -> tuple[str, dict[str, Any]]:
        query, values, _, text = statement
        if text is None:
            return QUERIES[query], bind_values(values)
        return psycopg_parameters(self.in_lanes(text)) if values else text, bind_values(values)

    def bound(self, statement: Statement) -> Statement:
        return statement._replace(values=bind_values(statement.values))

    make_run = staticmethod(run_with_times)
    make_started = staticmethod(started_with_times)

    def finish(self, ending: Sequence[Transition], *, whole: bool) -> list[Statement]:
        well, others = split_ends(ending)
        batch = []
        if well:
            values = SUCCEED | {"rows": Rows(ENDED_WELL, well)}
            batch.append(Statement("finish_well", values, exactly=len(well) if whole else None))
        if others:
            rows = Rows(FINISHED, [[getattr(change, name) for name in FINISHED] for change in others])
            batch.append(Statement("finish", {"rows": rows}, exactly=len(others) if whole else None))
        return batch

    def field_condition(self, field: FieldFilter, letter: str) -> tuple[str, dict[str, Any]]:
        return fields.condition_on(field, letter)

    def is_among(self, ids: str) -> str:
        return f"r.id = ANY(ARRAY({ids}))"  # with IN the planner makes a join, and may run the subquery for each row

    def merge_lanes(self, newest: str) -> str:
        lanes = "unnest(CAST(:lanes AS bigint[])) AS lane(value)"
        found = f"SELECT h.id FROM {lanes} CROSS JOIN LATERAL ({newest}) AS h"  # noqa: S608
        return f"{found} ORDER BY h.id DESC LIMIT :limit"

    def in_lanes(self, text: str) -> str:
        listed = "= ANY(CAST(:lanes AS bigint[]))"
        return fill_columns(text.replace(OF_LANES, f"r.lane {listed}").replace(AMONG_LANES, f"(r.lane + 0) {listed}"))


POSTGRES = PostgresDialect()


def bind_values(values: Mapping[str, Any], column: Callable[[Sequence[Any]], Any] = array_text) -> dict[str, Any]:
    """Parameters with rows as one value for each column; as psycopg takes them, that is an array written as text."""
    bound: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Rows):
            columns = zip(*value.values, strict=True) if value.values else [()] * len(value.columns)
            bound |= zip(value.columns, map(column, columns), strict=True)
        else:
            bound[name] = value
    return bound
