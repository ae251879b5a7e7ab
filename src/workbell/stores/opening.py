"""Opening a store by its URL: our schemes from a table, those of third parties by entry points of `workbell.stores`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from workbell.adapters import AdapterKind
from workbell.errors import InvalidUrl, StoreError
from workbell.model.state import Retention
from workbell.stores.port import CoreStore, Store


def open_store(url: str, keep: Retention | None = None, connections: int | None = None) -> Store:
    """The store that a URL names; with at most so many connections, where it is a server."""
    scheme = KIND.scheme_of(url)
    if scheme in _OURS:
        return _OURS[scheme](url, keep or Retention(), connections)
    from workbell.stores.missing_parts import complete

    return complete(KIND.open(scheme, url, keep=keep or Retention(), connections=connections), f"{scheme}://")


def _open_sqlite(url: str, keep: Retention, _connections: int | None) -> Store:
    from workbell.stores.sqlite.store import SqliteStore

    rest = url.removeprefix("sqlite://")
    path = rest.removeprefix("/")
    if not rest.startswith("/") or not path or "?" in path:
        raise InvalidUrl(f"{url!r}: write sqlite:///file.db, or sqlite:////absolute/path/file.db.")
    return SqliteStore(Path(path), keep=keep)


def _open_postgres(url: str, keep: Retention, connections: int | None) -> Store:
    try:
        from workbell.stores.postgres.store import PostgresStore
    except ImportError as error:
        raise StoreError("PostgreSQL needs its driver: pip install 'workbell[postgres]'.") from error
    return PostgresStore(url, keep=keep, connections=connections)


def _open_d1(url: str, keep: Retention, connections: int | None) -> Store:
    try:
        from workbell.stores.d1.store import open_url
    except ImportError as error:
        raise StoreError("D1 needs an HTTP client: pip install 'workbell[d1]'.") from error
    return open_url(url, keep, connections)


def _open_memory(url: str, keep: Retention, _connections: int | None) -> Store:
    from workbell.stores.memory.store import MemoryStore
    from workbell.stores.missing_parts import complete

    if url != "memory://":
        raise InvalidUrl("The store memory:// takes nothing after it: write memory://.")
    return complete(MemoryStore(keep=keep), url)


_OURS: dict[str, Callable[[str, Retention, int | None], Store]] = {
    "d1+http": _open_d1,  # to this machine only
    "d1+https": _open_d1,
    "memory": _open_memory,
    "postgres": _open_postgres,
    "postgresql": _open_postgres,
    "sqlite": _open_sqlite,
}

KIND = AdapterKind(
    "store",
    "workbell.stores",
    _OURS,
    "sqlite:///file.db or postgresql://host/database",
    port=CoreStore,
    error=StoreError,
)
