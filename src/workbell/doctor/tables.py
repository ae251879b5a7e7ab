"""Tables and schema version of a store, read without creating any."""

from __future__ import annotations

from workbell.stores.database import Tables
from workbell.stores.port import Store
from workbell.stores.sql_store import SqlStore


def tables_of(store: Store) -> Tables | None:
    """The tables of a store, or None where there are none yet."""
    return store.database.tables() if isinstance(store, SqlStore) else None
