"""SQLite files for tests: tables are made once, each test gets a copy, without fsync.

Making a file with its tables takes 84 ms on a disk; a copy of it and its first use take 9 ms. All copies have one
identity; each is a file of its own, which is what counts for `connection=`.
"""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

from workbell.model.clock import Clock
from workbell.model.state import Retention
from workbell.stores.sqlite.file import SqliteFile
from workbell.stores.sqlite.store import SqliteStore


class SqliteFiles:
    """The files of one test process, copied from a template that lies in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self._template = folder / "template.db"

    def make(self, path: Path) -> str:
        """Make a file with Workbell's tables and nothing in them; its URL."""
        if not self._template.exists():
            self._make_template()
        shutil.copy(self._template, path)  # with its mode: nobody else may read it
        return f"sqlite:///{path}"

    def open(self, path: Path, clock: Clock | None = None, keep: Retention | None = None) -> SqliteStore:
        """Make such a file; its store, which does not wait for the disk."""
        self.make(path)
        return SqliteStore(HastyFile(path), clock, keep)

    def _make_template(self) -> None:
        store = SqliteStore(HastyFile(self._template))
        store.migrate()
        store.close()
        left = self._template.with_name(self._template.name + "-wal")
        assert not left.exists() or left.stat().st_size == 0, "a part of the tables is still in the write-ahead log"


class HastyFile(SqliteFile):
    """A file whose commits survive the end of the process, but no power cut: two enqueues and a drain, which are eleven
    commits, took 16 ms so and 36 ms with synchronous=full."""

    def connect(self) -> sqlite3.Connection:
        connection = super().connect()
        connection.execute("PRAGMA synchronous = off")
        return connection
