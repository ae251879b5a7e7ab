"""The application's own database, `ctx.db`: connected at the first use, committed or rolled back with the call.

It is never the store's SQLite file: a transaction locks the whole file, so a handler's would block ours.
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
        """A new DB-API connection with the driver's defaults: a transaction begins implicitly and must be committed."""
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
            # An async handler's connection is closed on another thread than it was used on.
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
            # No prepared statements: a pooler may hand their server connection to another client.
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
    """Connection of one call of a handler: opened at most once, committed or rolled back at the end."""

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
        """Commit and close; an error here is an error of the handler."""
        self._end(commit=True)

    def roll_back(self) -> None:
        """Roll back and close. Errors are ignored: nothing was committed."""
        with contextlib.suppress(Exception):
            self._end(commit=False)

    def _end(self, commit: bool) -> None:
        with self._lock:
            self._ended = True
            connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            if not _is_closed(connection):  # `with ctx.db:` closes a psycopg connection, and has committed it
                (connection.commit if commit else connection.rollback)()
        finally:
            with contextlib.suppress(Exception):
                connection.close()  # rolls back what was not committed


def _not_apart(url: str) -> SettingsError:
    return SettingsError(
        f"database = {url!r} is the store's own file, which handlers must not lock; give the application "
        'a file of its own, for example database = "sqlite:///app.db".'
    )


def check_database(url: str, store_file: Path | None) -> None:
    """Raise if the setting `database` cannot be read or is the store's file, before a run uses it.

    A store file with the default's name is accepted: only a handler that uses `ctx.db` is refused then.
    """
    path = _file_in(url)
    if path is not None and store_file is not None and path.name != DEFAULT_NAME and _is_same(path, store_file):
        raise _not_apart(url)


def _file_in(url: str) -> Path | None:
    """The file of a SQLite URL; None for PostgreSQL."""
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
    """A URL without secrets: without user, password and parameters."""
    return repr(url.split("@")[-1].partition("?")[0][:60])


def file_of(store: object) -> Path | None:
    """The file of a SQLite store; None for others."""
    path = getattr(getattr(store, "file", None), "path", None)
    return path if isinstance(path, Path) else None


def _is_same(path: Path, other: Path) -> bool:
    """Whether two paths lead to the same file, also if it does not exist yet."""
    if path.exists() and other.exists():
        return os.path.samefile(path, other)  # noqa: PTH121
    return path.resolve() == other.resolve()


def _is_closed(connection: Any) -> bool:
    if not isinstance(connection, sqlite3.Connection):
        return bool(connection.closed)
    try:
        connection.in_transaction  # noqa: B018  free of cost, and raises on a closed connection
    except sqlite3.ProgrammingError:
        return True
    return False
