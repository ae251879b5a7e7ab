"""The contract of a database, on both engines."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from workbell.stores.database import Database
from workbell.stores.opening import open_store
from workbell.stores.postgres.store import PostgresStore
from workbell.stores.sql_store import SqlStore
from workbell.testing.contracts.database import DatabaseContract


@pytest.fixture(params=["empty_sqlite_url", "empty_postgres_url", "distant empty_postgres_url"])
def database(request: pytest.FixtureRequest) -> Iterator[Database]:
    where, _, name = request.param.rpartition(" ")
    store = open_store(request.getfixturevalue(name))
    assert isinstance(store, SqlStore)
    if isinstance(store, PostgresStore):
        store.calls.is_distant = bool(where)
    yield store.database
    store.close()


class TestDatabases(DatabaseContract):
    """SQLite on a file that is not there yet, PostgreSQL; and PostgreSQL far away, where batches are pipelined."""
