"""What a store's tables are, looked at without creating any."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from workbell.stores.migrate import PostgresSchema, Schema, SqliteSchema
from workbell.stores.port import Store
from workbell.stores.session import Session
from workbell.stores.sql_store import SqlStore

ENGINES: dict[str, Callable[[Session], Schema]] = {"sqlite": SqliteSchema, "postgres": PostgresSchema}


class Tables(NamedTuple):
    """The version of the tables, and the identity of the store that they are."""

    version: int
    store_id: str


def look(store: Store) -> Tables | None:
    """The tables of a store, or None where there are none yet."""
    if not isinstance(store, SqlStore):
        return None

    def work(session: Session) -> Tables | None:
        schema = ENGINES[store.engine](session)
        if not schema.exists():
            return None
        found = session.rows("store_id")
        return Tables(schema.version()[0], str(found[0][0]) if found else "")

    return store.read(work)
