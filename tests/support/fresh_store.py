"""Fresh SQLite stores for tests: each call makes an empty one, which is closed and removed when the test ends.

    bell = Workbell(store=fresh_store(clock), settings=Settings())

They do not wait for the disk (see workbell.testing.sqlite_files), so that tests of faults take the fixtures of
conftest.py instead. What lives longer than a test, such as the server of a module, makes its file by `sqlite_files`.
"""

from __future__ import annotations

from pathlib import Path

from workbell.model.clock import Clock
from workbell.model.state import Retention
from workbell.stores.sqlite.store import SqliteStore
from workbell.testing.sqlite_files import SqliteFiles


class FreshStores:
    """The stores of the test that is running."""

    def __init__(self, files: SqliteFiles, folder: Path) -> None:
        self._files = files
        self._folder = folder
        self._open: list[SqliteStore] = []

    def make(self, clock: Clock | None, keep: Retention | None) -> SqliteStore:
        store = self._files.open(self._folder / f"fresh-{len(self._open)}.db", clock, keep)
        self._open.append(store)
        return store

    def remove(self) -> None:
        if not self._open:
            return
        for store in self._open:
            store.close()
        self._open.clear()
        for left in self._folder.glob("fresh-*"):
            left.unlink(missing_ok=True)  # by a connection that a thread has closed meanwhile


_stores: FreshStores | None = None


def use_stores(stores: FreshStores) -> None:
    """For the rest of this process."""
    global _stores
    _stores = stores


def fresh_store(clock: Clock | None = None, keep: Retention | None = None) -> SqliteStore:
    assert _stores is not None, "stores are made within tests and their fixtures"
    return _stores.make(clock, keep)
