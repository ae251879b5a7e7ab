"""The database of the measurements, for peers on PostgreSQL."""

from __future__ import annotations

from typing import Any

import psycopg

from .hits import POSTGRES


def reset() -> None:
    """Drop what every peer has made."""
    with psycopg.connect(POSTGRES, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS graphile_worker CASCADE")
        connection.execute("DROP SCHEMA IF EXISTS public CASCADE")
        connection.execute("CREATE SCHEMA public")


class Query:
    """A query of one value, on a connection that is kept."""

    def __init__(self, sql: str) -> None:
        self._sql = sql
        self._connection: psycopg.Connection[Any] | None = None

    def __call__(self) -> Any:
        if self._connection is None:
            self._connection = psycopg.connect(POSTGRES, autocommit=True)
        row = self._connection.execute(self._sql).fetchone()
        assert row is not None
        return row[0]
