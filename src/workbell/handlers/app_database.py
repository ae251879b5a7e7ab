"""The application's own database, as handlers get it by `ctx.db`: opened when first used, and ended with the call.

It is never the store's: none of our transactions is open while a handler runs, and none of a handler's must hold up
ours. On SQLite, where a transaction locks the whole file, the store's file is therefore refused.
"""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from workbell.errors import DatabaseUnavailable, SettingsError, WorkbellError
from workbell.logs.secrets import without_quotes

DEFAULT_NAME = "app.db"
DEADLINE = 10  # seconds: to connect, and on SQLite for a lock

HOW = "write sqlite:///app.db or postgresql://host/database"


class AppDatabase:
    """A database by its URL; `store_file` is the file of the store, if it has one."""

    def __init__(self, url: str, store_file: Path | None = None) -> None:
        self._url = url
        self._store_file = store_file

    def open(self) -> Any:
        """A new DB-API connection, in the ways of its driver: a transaction begins by itself, and must be committed."""
        path = _file_in(self._url)
        return self._connect() if path is None else self._open_file(path)

    def _open_file(self, path: Path) -> sqlite3.Connection:
        if self._store_file is not None and _is_same(path, self._store_file):
            raise _not_apart(self._url)
        if not path.absolute().parent.is_dir():
            raise SettingsError(
                f"database = {self._url!r}: there is no folder {path.parent}; make it, or name another."
            )
        try:
            # Ended by whoever called the handler, which for an async one can be another thread than the user.
            connection = sqlite3.connect(path, timeout=DEADLINE, check_same_thread=False)
        except sqlite3.Error as error:
            raise DatabaseUnavailable(f"ctx.db: {path} cannot be opened: {error}; can it be written to?") from error
        return connection

    def _connect(self) -> Any:
        try:
            import psycopg
        except ImportError as error:
            raise SettingsError("PostgreSQL needs its driver: pip install 'workbell[postgres]'.") from error
        try:
            # Prepared statements would live on a server connection that a pooler may have given to somebody else.
            return psycopg.connect(self._url, connect_timeout=DEADLINE, prepare_threshold=None)
        except psycopg.ProgrammingError as error:
            reason = without_quotes(" ".join(str(error).split()))
            raise SettingsError(
                f"ctx.db: the setting `database` cannot be read: {reason}; "
                "write it as postgresql://user:password@host:5432/database."
            ) from None
        except psycopg.Error as error:
            shown = re.sub(r"(?<=://)[^/@]*@", "", self._url).partition("?")[0]
            reason = " ".join(str(error).split())
            raise DatabaseUnavailable(f"ctx.db: {shown} cannot be reached: {reason}; is it running?") from error


class DatabaseUse:
    """The database during one call of a handler: at most one connection, and an end."""

    def __init__(self, open_connection: Callable[[], Any]) -> None:
        self._open = open_connection
        self._lock = threading.Lock()
        self._connection: Any = None
        self._ended = False

    def connection(self) -> Any:
        with self._lock:
            if self._ended:
                raise WorkbellError(
                    "ctx.db: the handler has ended, and its connection with it; use ctx.db before that."
                )
            if self._connection is None:
                self._connection = self._open()
            return self._connection

    def commit(self) -> None:
        """Keep what the handler wrote, and let go of the connection; an error here is an error of the handler."""
        self._end(keep=True)

    def roll_back(self) -> None:
        """Undo what the handler wrote, unless it has ended already. Whatever is wrong here, nothing was kept."""
        with contextlib.suppress(Exception):
            self._end(keep=False)

    def _end(self, keep: bool) -> None:
        with self._lock:
            self._ended = True
            connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            if not _is_closed(connection):  # `with ctx.db:` closes a psycopg connection, and has committed it
                (connection.commit if keep else connection.rollback)()
        finally:
            with contextlib.suppress(Exception):
                connection.close()  # rolls back what was not committed


def _not_apart(url: str) -> SettingsError:
    return SettingsError(
        f"database = {url!r} is the store's own file, which handlers must not lock; give the application "
        'a file of its own, for example database = "sqlite:///app.db".'
    )


def check_database(url: str, store_file: Path | None) -> None:
    """Raise if the setting `database` cannot be read or is the store's file, before any run can meet it.

    One of the default's name may not be meant at all: then only a handler that asks for it is refused.
    """
    path = _file_in(url)
    if path is not None and store_file is not None and path.name != DEFAULT_NAME and _is_same(path, store_file):
        raise _not_apart(url)


def _file_in(url: str) -> Path | None:
    """The file that a URL names; none, if it is PostgreSQL's."""
    scheme, separator, rest = url.partition("://")
    if separator and scheme in ("postgresql", "postgres"):
        return None
    if not separator or scheme != "sqlite":
        raise SettingsError(f"database = {_shown(url)} cannot be read: {HOW}.")
    path = Path(rest.removeprefix("/"))
    if not rest.startswith("/") or path.name in ("", ":memory:") or "?" in rest:
        raise SettingsError(f"database = {_shown(url)} names no file: {HOW}.")
    return path


def _shown(url: str) -> str:
    """A URL without what may be secret: the user before the host, and the parameters at its end."""
    return repr(url.split("@")[-1].partition("?")[0][:60])


def file_of(store: object) -> Path | None:
    """The file of a store that is one."""
    path = getattr(getattr(store, "file", None), "path", None)
    return path if isinstance(path, Path) else None


def _is_same(path: Path, other: Path) -> bool:
    """By what they lead to: through links, by any name, and also if there is nothing yet."""
    if path.exists() and other.exists():
        return os.path.samefile(path, other)  # noqa: PTH121
    return path.resolve() == other.resolve()


def _is_closed(connection: Any) -> bool:
    if not isinstance(connection, sqlite3.Connection):
        return bool(connection.closed)
    try:
        connection.in_transaction  # noqa: B018  the only question that a closed one refuses and that costs nothing
    except sqlite3.ProgrammingError:
        return True
    return False
