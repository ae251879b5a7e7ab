"""The PostgreSQL store: all parts over a pool of connections."""

from __future__ import annotations

from workbell.model.clock import SystemClock
from workbell.model.state import Retention
from workbell.stores.postgres.database import CONNECTIONS, PostgresDatabase
from workbell.stores.sql_store import SqlStore


class PostgresStore(SqlStore):
    """Jobs and runs in PostgreSQL, for any number of machines."""

    def __init__(
        self, url: str, clock: SystemClock | None = None, keep: Retention | None = None, connections: int | None = None
    ) -> None:
        database = PostgresDatabase(url, clock or SystemClock(), connections or CONNECTIONS)
        super().__init__(database, keep or Retention())
        self.calls = database.calls
