"""The pytest plugin: fixtures for tests of applications. It is loaded in every test run, so it imports when asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from workbell.app import Workbell
    from workbell.model.clock import ManualClock


@pytest.fixture
def workbell_clock() -> ManualClock:
    """A clock that moves only when told to: `workbell_clock.advance(hours=1)`."""
    from workbell.model.clock import ManualClock

    return ManualClock()


@pytest.fixture
def workbell_memory(workbell_clock: ManualClock) -> Iterator[Workbell]:
    """A Workbell in memory, under `workbell_clock`: for `drain`, `inline` and `assert_enqueued`."""
    from workbell.app import Workbell
    from workbell.settings import Settings
    from workbell.stores.memory import MemoryStore

    with Workbell(settings=Settings(url="memory://"), store=MemoryStore(workbell_clock)) as bell:
        yield bell


@pytest.fixture
def workbell_sqlite(tmp_path: Path, workbell_clock: ManualClock) -> Iterator[Workbell]:
    """A Workbell on a new SQLite file with its tables, under `workbell_clock`: for code that uses `connection=`.

    `workbell_sqlite.store.file.path` is the file, for connections of your own.
    """
    from workbell.app import Workbell
    from workbell.settings import Settings
    from workbell.stores.sqlite.store import SqliteStore

    path = tmp_path / "workbell.db"
    store = SqliteStore(path, workbell_clock)
    with Workbell(settings=Settings(url=f"sqlite:///{path}"), store=store) as bell:
        store.check()
        yield bell
        store.close()
