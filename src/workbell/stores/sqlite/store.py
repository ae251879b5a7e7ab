"""The SQLite store: all parts over one file."""

from __future__ import annotations

from pathlib import Path

from workbell.model.clock import Clock, SystemClock
from workbell.model.state import Retention
from workbell.stores.sql_store import SqlStore
from workbell.stores.sqlite.database import SqliteDatabase
from workbell.stores.sqlite.file import SqliteFile


class SqliteStore(SqlStore):
    """Jobs and runs in one file: nothing to install, and as durable as the disk."""

    def __init__(self, path: Path | SqliteFile, clock: Clock | None = None, keep: Retention | None = None) -> None:
        self.file = path if isinstance(path, SqliteFile) else SqliteFile(path)
        super().__init__(SqliteDatabase(self.file, clock or SystemClock()), keep or Retention())
