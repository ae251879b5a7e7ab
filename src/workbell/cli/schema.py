"""Which engine's SQL the store of a URL needs."""

from __future__ import annotations

from workbell.cli.project import opened
from workbell.errors import InvalidOption
from workbell.settings import safe_url
from workbell.stores.sql_store import SqlStore

OURS = {
    "d1+http": "sqlite",
    "d1+https": "sqlite",
    "sqlite": "sqlite",
    "memory": "sqlite",
    "postgresql": "postgres",
    "postgres": "postgres",
}


def scheme_of(url: str) -> str:
    return url.partition("://")[0]


def engine_of(url: str) -> str:
    """The engine whose SQL a URL needs. Ours are known by the scheme: PostgreSQL's driver need not be installed."""
    ours = OURS.get(scheme_of(url))
    if ours is not None:
        return ours
    with opened(url) as store:
        if not isinstance(store, SqlStore):
            raise InvalidOption(f"{safe_url(url)} has no SQL of ours; --engine says whose SQL to print.")
        return store.engine
