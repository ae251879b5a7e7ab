"""Fresh SQLite files, quickly: the tables are made once a process, and each test gets a copy of that file.

Making them takes fifty milliseconds, much of it waiting for the disk; a copy takes less than one. What is handed out
is what a store makes at its first use. All of them have one identity, as the copies of PostgreSQL's template have.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from workbell.app import open_store


class SqliteFiles:
    """The files of one test process, copied from one that lies in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self._original = folder / "original.db"

    def make(self, path: Path) -> str:
        """Make a file with Workbell's tables and nothing in them; its URL."""
        if not self._original.exists():
            self._make_original()
        shutil.copyfile(self._original, path)
        return f"sqlite:///{path}"

    def _make_original(self) -> None:
        store = open_store(f"sqlite:///{self._original}")
        store.migrate()
        store.close()
        left = self._original.with_name(self._original.name + "-wal")
        assert not left.exists() or left.stat().st_size == 0, "a part of the tables is still in the write-ahead log"
