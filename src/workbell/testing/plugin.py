"""Pytest plugin: fixtures for tests of applications. Loaded in every test run, so it imports lazily."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from workbell.app import Workbell
    from workbell.model.clock import ManualClock
    from workbell.testing.sqlite_files import SqliteFiles


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("workbell")
    for noun, module in (
        ("store", "workbell.testing.contracts.core"),
        ("queue", "workbell.testing.contracts.queue_of_url"),
    ):
        group.addoption(
            f"--workbell-{noun}",
            metavar="URL",
            help=f"The {noun} that `--pyargs {module}` tests; {{new}} in it is another word for each test.",
        )


@pytest.fixture
def workbell_clock() -> ManualClock:
    """A clock that moves only on command: `workbell_clock.advance(hours=1)`."""
    from workbell.model.clock import ManualClock

    return ManualClock()


@pytest.fixture(scope="session")
def _workbell_files(tmp_path_factory: pytest.TempPathFactory) -> SqliteFiles:
    from workbell.testing.sqlite_files import SqliteFiles

    return SqliteFiles(tmp_path_factory.mktemp("workbell-template"))  # with xdist, each process has its own


@pytest.fixture
def workbell_memory(
    workbell_clock: ManualClock, _workbell_files: SqliteFiles, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Workbell]:
    """A Workbell on an empty store, under `workbell_clock`: for `drain`, `inline`, `assert_enqueued` and `connection=`.

    The store is a SQLite file, `workbell_memory.store.file.path`, for connections of your own. It lies beside
    `tmp_path` and is removed at the end: pytest keeps what tests leave there, and this is 400 KB for each of them.
    """
    from workbell.app import Workbell
    from workbell.settings import Settings

    folder = tmp_path_factory.mktemp("workbell")
    store = _workbell_files.open(folder / "workbell.db", workbell_clock)
    with Workbell(settings=Settings(url=f"sqlite:///{store.file.path}"), store=store) as bell:
        yield bell
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def workbell_sqlite(workbell_memory: Workbell) -> Workbell:
    """Another name of `workbell_memory`."""
    return workbell_memory
