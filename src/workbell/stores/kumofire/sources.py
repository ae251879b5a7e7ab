"""Files with Kumofire's tables: a database file of SQLite, or the SQL text that `wrangler d1 export` writes."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workbell.errors import StoreError
from workbell.stores.kumofire.queries import kumofire_queries
from workbell.stores.kumofire.tables import KumofireSource

MAGIC = b"SQLite format 3\x00"
LONGEST = 2**31  # bytes of an SQL text: it is executed in memory


def open_source(where: str) -> KumofireSource:
    """The source that a path, a `sqlite:///` URL or the URL of a bridge names."""
    if where.startswith("d1+"):
        try:
            from workbell.stores.kumofire.bridge import BridgeSource
        except ImportError as error:
            raise StoreError("D1 needs an HTTP client: pip install 'workbell[d1]'.") from error
        return BridgeSource(where)
    if "://" in where and not where.startswith("sqlite:///"):
        scheme = where.partition("://")[0]
        raise StoreError(f"--from: {scheme[:40]}:// names no database of Kumofire; give a file, or d1+https://bridge….")
    return FileSource(Path(where.removeprefix("sqlite:///")))


class FileSource:
    """A file, read only. SQL text is executed in memory, where it can reach no other file."""

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        try:
            with path.open("rb") as file:
                is_database = file.read(len(MAGIC)) == MAGIC
                size = file.seek(0, 2)
            if not is_database and size > LONGEST:
                raise StoreError(f"{path}: an SQL text of {size:,} bytes is too much; make a file of it with sqlite3.")
            self._connection = self._open(path) if is_database else self._execute(path)
        except (OSError, sqlite3.Error, UnicodeDecodeError) as error:
            said = getattr(error, "strerror", None) or error
            raise StoreError(
                f"{path}: it cannot be read ({said}); give a database file of SQLite, or the SQL text that "
                "`wrangler d1 export` writes."
            ) from error

    def _open(self, path: Path) -> sqlite3.Connection:
        return _as_text(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, check_same_thread=False))

    def _execute(self, path: Path) -> sqlite3.Connection:
        connection = _as_text(sqlite3.connect(":memory:", check_same_thread=False))
        connection.set_authorizer(_allow)
        connection.executescript(path.read_text("utf-8-sig"))
        return connection

    def read(self, query: str, **values: Any) -> Sequence[Sequence[Any]]:
        try:
            return self._connection.execute(kumofire_queries()[query], values).fetchall()
        except sqlite3.Error as error:
            raise StoreError(
                f"{self.name}: Kumofire's tables cannot be read ({error}); export the whole database again."
            ) from error

    def close(self) -> None:
        self._connection.close()


def _as_text(connection: sqlite3.Connection) -> sqlite3.Connection:
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    return connection


def _allow(action: int, *_words: str | None) -> int:
    """Everything but other files: a text from elsewhere is executed."""
    return sqlite3.SQLITE_DENY if action in (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH) else sqlite3.SQLITE_OK
