"""The contract of a database, on both engines."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from workbell.stores.database import Database
from workbell.stores.opening import open_store
from workbell.stores.postgres.store import PostgresStore
from workbell.stores.sqlite.store import SqliteStore
from workbell.testing.contracts.database import DatabaseContract


@pytest.fixture(params=["empty_sqlite_url", "postgres_url"])
def database(request: pytest.FixtureRequest) -> Iterator[Database]:
    store = open_store(request.getfixturevalue(request.param))
    assert isinstance(store, SqliteStore | PostgresStore)
    yield store.database
    store.close()


class TestDatabases(DatabaseContract):
    """SQLite on a file that is not there yet, PostgreSQL."""
