"""Opening a store by its URL: our schemes from a table, those of third parties by entry points of `workbell.stores`.

The table comes first, and `importlib.metadata` is imported for other schemes only: to import it and to read what 82
installed packages provide takes 15 to 18 ms, a hundred times as long as making the store of a SQLite file.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from workbell.errors import InvalidUrl, StoreError, WorkbellError
from workbell.logs.secrets import without_secrets
from workbell.model.state import Keep
from workbell.stores.port import Store

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "workbell.stores"
EXAMPLES = "sqlite:///file.db or postgresql://host/database"

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_NAMED = 5  # members that a wrong store lacks are named up to this number


def open_store(url: str, keep: Keep | None = None, connections: int | None = None) -> Store:
    """The store that a URL names; with at most so many connections, where it is a server."""
    if not isinstance(url, str):
        raise InvalidUrl(f"The store's URL must be a text, got {type(url).__name__}.")
    found = _SCHEME.match(url)
    if found is None:
        shown = url.split("@")[-1][:40]
        raise InvalidUrl(f"{shown!r} names no store; {_there_are()}. Write the URL as {EXAMPLES}.")
    scheme = found[1]
    if scheme in _OURS:
        return _OURS[scheme](url, keep or Keep(), connections)
    return _open_by(_entry_point(scheme), url, keep or Keep(), connections)


# Our own


def _open_sqlite(url: str, keep: Keep, _connections: int | None) -> Store:
    from workbell.stores.sqlite.store import SqliteStore

    rest = url.removeprefix("sqlite://")
    path = rest.removeprefix("/")
    if not rest.startswith("/") or not path or "?" in path:
        raise InvalidUrl(f"{url!r}: write sqlite:///file.db, or sqlite:////absolute/path/file.db.")
    return SqliteStore(Path(path), keep=keep)


def _open_postgres(url: str, keep: Keep, connections: int | None) -> Store:
    try:
        from workbell.stores.postgres.store import PostgresStore
    except ImportError as error:
        raise StoreError("PostgreSQL needs its driver: pip install 'workbell[postgres]'.") from error
    return PostgresStore(url, keep=keep, connections=connections)


def _open_memory(url: str, keep: Keep, _connections: int | None) -> Store:
    from workbell.stores.memory import MemoryStore

    if url != "memory://":
        raise InvalidUrl("The store memory:// takes nothing after it: write memory://.")
    return MemoryStore(keep=keep)


_OURS: dict[str, Callable[[str, Keep, int | None], Store]] = {
    "memory": _open_memory,
    "postgres": _open_postgres,
    "postgresql": _open_postgres,
    "sqlite": _open_sqlite,
}


# Third parties


def _open_by(point: EntryPoint, url: str, keep: Keep, connections: int | None) -> Store:
    provider = _provider(point)
    try:
        store = point.load()(url, keep=keep, connections=connections)
    except WorkbellError as error:
        error.args = (f"{provider}: {without_secrets(str(error))}", *error.args[1:])
        raise
    except Exception as error:
        why = f"{type(error).__name__}: {without_secrets(str(error))}".rstrip(".")
        raise StoreError(f"{provider} could not open the store: {why}; repair or update the package.") from error
    lacking = _lacking(store)
    if lacking:
        more = f" and {len(lacking) - _NAMED} more" if len(lacking) > _NAMED else ""
        raise StoreError(
            f"{provider}: its {type(store).__name__} is no store, it lacks {', '.join(lacking[:_NAMED])}{more}; update "
            "the package. What a store must do is tested by workbell.testing.contracts."
        )
    checked: Store = store
    return checked


def _entry_point(scheme: str) -> EntryPoint:
    from importlib.metadata import entry_points

    found = sorted(entry_points(group=GROUP, name=scheme), key=_provider)
    if not found:
        raise InvalidUrl(
            f"{scheme!r} names no store; {_there_are()}. Write the URL as {EXAMPLES}, or install the package that "
            f"provides {scheme!r}."
        )
    if len(found) > 1:
        providers = " and ".join(_provider(point) for point in found)
        raise InvalidUrl(f"{scheme!r} names more than one store: {providers} provide it; uninstall all but one.")
    return found[0]


def _there_are() -> str:
    from importlib.metadata import entry_points

    *others, last = sorted({*_OURS, *(point.name for point in entry_points(group=GROUP))})
    return f"there are {', '.join(others)} and {last}"


def _provider(point: EntryPoint) -> str:
    """`acme-store 1.2 (entry point acme = acme.store:open_url)`."""
    package = "A package" if point.dist is None else f"{point.dist.name} {point.dist.version}"
    return f"{package} (entry point {point.name} = {point.value})"


def _lacking(store: object) -> list[str]:
    """Members of the port that an object does not have."""
    wanted = {*Store.__annotations__, *(name for name in vars(Store) if not name.startswith("_"))}
    return sorted(name for name in wanted if not hasattr(store, name))
