"""Pytest plugin: fixtures, a marker and a guard for tests of applications.

It is loaded in every test run, so it imports lazily.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from workbell.app import Workbell
    from workbell.model.clock import ManualClock
    from workbell.testing.sqlite_files import SqliteFiles


MARKER = (
    "workbell(inline=False, real_store=False): inline: enqueue executes at once, on the store of workbell_memory; "
    "real_store: the test may touch the application's own store, though workbell_guard is on."
)


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
    parser.addini(
        "workbell_guard",
        "Fail tests that touch a store other than memory:// and SQLite files in pytest's temporary folder.",
        type="bool",
        default=False,
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)
    if config.getini("workbell_guard"):
        from workbell.testing.guard import StoreGuard

        guard = StoreGuard()
        guard.install()
        config.pluginmanager.register(guard, "workbell-guard")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Refuse a marker that says nothing, before any fixture is made."""
    if item.get_closest_marker("workbell") is None:
        return
    from workbell.errors import InvalidOption
    from workbell.testing.marker import read_marker

    try:
        options = read_marker(item)
    except InvalidOption as error:
        pytest.fail(f"{item.nodeid}: {error}", pytrace=False)
    if options.inline and "workbell_memory" not in getattr(item, "fixturenames", ()):
        pytest.fail(
            f"{item.nodeid}: pytest.mark.workbell(inline=True) is about the store of the fixture workbell_memory, and "
            "the test does not use it; take that fixture, or leave out the marker.",
            pytrace=False,
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
    request: pytest.FixtureRequest,
    workbell_clock: ManualClock,
    _workbell_files: SqliteFiles,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Workbell]:
    """A Workbell on an empty store, under `workbell_clock`: for `drain`, `inline`, `assert_enqueued` and `connection=`.

    The store is a SQLite file, `workbell_memory.store.file.path`, for connections of your own. It lies beside
    `tmp_path` and is removed at the end: pytest keeps what tests leave there, and this is 400 KB for each of them.
    With the marker `workbell(inline=True)` it is inline, and so is what `retarget` gives its store.
    """
    from workbell.app import Workbell
    from workbell.settings import Settings
    from workbell.testing.inline import inline
    from workbell.testing.marker import read_marker

    folder = tmp_path_factory.mktemp("workbell")
    store = _workbell_files.open(folder / "workbell.db", workbell_clock)
    executing = inline if read_marker(request.node).inline else nullcontext
    with Workbell(settings=Settings(url=f"sqlite:///{store.file.path}"), store=store) as bell, executing(bell):
        yield bell
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def workbell_sqlite(workbell_memory: Workbell) -> Workbell:
    """Another name of `workbell_memory`."""
    return workbell_memory
