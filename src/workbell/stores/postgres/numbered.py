"""Statements of PostgreSQL with numbered parameters, as asyncpg takes them: `$1`.

asyncpg has the server say the types of parameters, and wants values of just these: a list for an array, where psycopg
takes our text of one. An id may be text, as everywhere.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from workbell.stores.database import Statement
from workbell.stores.postgres.dialect import bind_values
from workbell.stores.queries import numbered_parameters, queries
from workbell.stores.rows import fill_columns


def bind_numbered(statement: Statement) -> tuple[str, tuple[Any, ...]]:
    """The SQL of a query of the files, and its parameters in order."""
    sql, words = _numbered(statement.query)
    values = bind_values(statement.values, list)  # asyncpg takes lists
    return sql, tuple(values[word] for word in words)


@cache
def _numbered(query: str) -> tuple[str, tuple[str, ...]]:
    return numbered_parameters(fill_columns(queries("postgres")[query]))
