"""Fixtures for every test: the stores, each fresh, and a clock that moves only when told to.

One PostgreSQL serves the whole session. The process that pytest was started as owns it; with xdist it is started
before the workers, which are told its port, and otherwise when the first test asks for it.
"""

from __future__ import annotations

import gc
import logging
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# Until all are collected nothing is garbage; see the end of the collection below.
gc.disable()
# The tests start many hundreds of processes: those that find the sources compiled start in half the time.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# And those that serve no HTTP in half of that: a test that wants it says so.
os.environ["WORKBELL_HTTP"] = "false"

# A shell has what it starts in the background ignore SIGINT, and programs inherit that: the tests send it to theirs.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

pytest.register_assert_rewrite("workbell.testing.contracts", "tests.support")

# The same examples each time, so that a test never fails by chance; WORKBELL_SOAK=1 searches at random, and longer.
settings.register_profile("steady", max_examples=50, derandomize=True, deadline=None, database=None)
settings.register_profile("soak", max_examples=1000, deadline=None, database=None)
settings.load_profile("soak" if os.environ.get("WORKBELL_SOAK") else "steady")

from tests.support.databases import Databases  # noqa: E402
from tests.support.fresh_store import FreshStores, use_stores  # noqa: E402
from tests.support.not_pooled import POOLED, leave_out, prepare_nothing  # noqa: E402
from tests.support.one_connection import refuse_second_connections  # noqa: E402
from tests.support.order import put_in_order  # noqa: E402
from tests.support.pgbouncer import PgBouncer, through  # noqa: E402
from tests.support.postgres import PostgresServer, RunningServer  # noqa: E402
from tests.support.quick_files import use_memory  # noqa: E402
from tests.support.recorder import Recorder  # noqa: E402
from tests.support.shared_imports import import_share  # noqa: E402
from workbell.app import open_store  # noqa: E402
from workbell.model.clock import ManualClock  # noqa: E402
from workbell.stores.port import Store  # noqa: E402
from workbell.testing.sqlite_files import SqliteFiles  # noqa: E402

SERVER = pytest.StashKey[PostgresServer]()
POOLER = pytest.StashKey[PgBouncer]()
TEMPLATE = "workbell_template"

refuse_second_connections()
if POOLED:
    prepare_nothing()
FOLDER = use_memory()  # none in a process that xdist has started: it has that of its controller


def pytest_unconfigure(config: pytest.Config) -> None:
    pooler = config.stash.get(POOLER, None)
    if pooler is not None:
        pooler.remove()
    server = config.stash.get(SERVER, None)
    if server is not None:
        server.remove()
    if FOLDER is not None:
        shutil.rmtree(FOLDER, ignore_errors=True)


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    config = session.config
    given = getattr(config, "workerinput", None)
    if given is not None and config.args == config.getini("testpaths"):
        number = int(given["workerid"].removeprefix("gw"))
        import_share(number, given["workercount"], config.getini("norecursedirs"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if POOLED:
        leave_out(config, items)
    if hasattr(config, "workerinput"):
        put_in_order(items, config.workerinput["workercount"])


def pytest_collection_finish() -> None:
    """Thousands of tests that stay to the end: the collector of garbage need not look through them again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000)  # a tenth of the tests' own CPU was spent on looking for garbage
    gc.enable()


def pytest_runtest_logfinish() -> None:
    """A command that was run in this process has set the level of its logs: the next test finds none."""
    logging.getLogger("workbell").setLevel(logging.NOTSET)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """In the controller, for each xdist worker."""
    node.workerinput["postgres_port"] = _own_server(node.config).port
    if POOLED:
        node.workerinput["pooler_port"] = _own_pooler(node.config).port


def _own_server(config: pytest.Config) -> PostgresServer:
    if SERVER not in config.stash:
        server = config.stash[SERVER] = PostgresServer()
        server.start()
        store = open_store(server.create_database(name=TEMPLATE))
        store.migrate()
        store.close()
    return config.stash[SERVER]


def _own_pooler(config: pytest.Config) -> PgBouncer:
    if POOLER not in config.stash:
        config.stash[POOLER] = PgBouncer(_own_server(config).port).start()
    return config.stash[POOLER]


@pytest.fixture(scope="session")
def pooler_port(request: pytest.FixtureRequest) -> int:
    """The port of the PgBouncer in front of the server of this session."""
    given = getattr(request.config, "workerinput", {}).get("pooler_port")
    return _own_pooler(request.config).port if given is None else int(given)


@pytest.fixture(scope="session")
def postgres_server(request: pytest.FixtureRequest) -> PostgresServer:
    """The server of this session; private second ones are made with `PostgresServer(folder)`."""
    given = getattr(request.config, "workerinput", {}).get("postgres_port")
    return _own_server(request.config) if given is None else RunningServer(given)


@pytest.fixture(scope="session")
def databases(postgres_server: PostgresServer) -> Iterator[Databases]:
    databases = Databases(postgres_server, TEMPLATE, pooled=POOLED)
    yield databases
    databases.close()


@pytest.fixture
def postgres_url(databases: Databases, request: pytest.FixtureRequest) -> Iterator[str]:
    """A fresh PostgreSQL database with Workbell's tables; in `make test-pgbouncer` through a pooler."""
    url = databases.take()
    yield through(url, request.getfixturevalue("pooler_port")) if POOLED else url
    databases.give_back(url)


@pytest.fixture
def empty_postgres_url(postgres_server: PostgresServer, request: pytest.FixtureRequest) -> Iterator[str]:
    """A fresh PostgreSQL database without any tables."""
    url = postgres_server.create_database()
    yield through(url, request.getfixturevalue("pooler_port")) if POOLED else url
    postgres_server.drop_database(url)


@pytest.fixture(scope="session")
def sqlite_files(tmp_path_factory: pytest.TempPathFactory) -> SqliteFiles:
    return SqliteFiles(tmp_path_factory.mktemp("sqlite"))


@pytest.fixture(scope="session", autouse=True)
def fresh_stores(sqlite_files: SqliteFiles, tmp_path_factory: pytest.TempPathFactory) -> FreshStores:
    stores = FreshStores(sqlite_files, tmp_path_factory.mktemp("fresh"))
    use_stores(stores)
    return stores


@pytest.fixture(autouse=True)
def remove_fresh_stores(fresh_stores: FreshStores) -> Iterator[None]:
    """What `fresh_store` made for this test."""
    yield
    fresh_stores.remove()


@pytest.fixture
def sqlite_url(tmp_path: Path, sqlite_files: SqliteFiles) -> str:
    """A fresh SQLite file with Workbell's tables."""
    return sqlite_files.make(tmp_path / "workbell.db")


@pytest.fixture
def empty_sqlite_url(tmp_path: Path) -> str:
    """A file that is not there yet, in a folder that is."""
    return f"sqlite:///{tmp_path / 'workbell.db'}"


@pytest.fixture(params=["sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest) -> str:
    """The URL of each kind of store with all verbs in turn. In tests/contracts the memory store is one more."""
    return _url(request)


@pytest.fixture(params=["sqlite", "postgres"])
def sql_store_url(request: pytest.FixtureRequest) -> str:
    return _url(request)


def _url(request: pytest.FixtureRequest) -> str:
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


@pytest.fixture
def store(store_url: str, request: pytest.FixtureRequest) -> Iterator[Store]:
    """Each kind of store in turn, empty and ready."""
    yield from _open(store_url, request)


@pytest.fixture
def sql_store(sql_store_url: str, request: pytest.FixtureRequest) -> Iterator[Store]:
    yield from _open(sql_store_url, request)


@pytest.fixture
def sqlite_store(sqlite_url: str, request: pytest.FixtureRequest) -> Iterator[Store]:
    yield from _open(sqlite_url, request)


@pytest.fixture
def postgres_store(postgres_url: str, request: pytest.FixtureRequest) -> Iterator[Store]:
    yield from _open(postgres_url, request)


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[Recorder]:
    """What the processes under test did, for the checker."""
    recorder = Recorder(tmp_path / "recording.jsonl")
    yield recorder
    recorder.close()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def _open(url: str, request: pytest.FixtureRequest) -> Iterator[Store]:
    databases = request.getfixturevalue("databases") if url.startswith("postgres") else None
    store = open_store(url)
    if databases is not None:
        databases.lend(url, store)
    store.check()
    yield store
    if databases is not None:
        databases.keep(url, store)
    store.close()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()
