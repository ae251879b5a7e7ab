"""Migrating beside an open reader (a dump, a forgotten session): nobody queues up behind it for long."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from tests.support.next_version import NAME, next_version
from workbell.app import open_store
from workbell.errors import StoreUnavailable
from workbell.model import state
from workbell.stores import migrate
from workbell.stores.port import LeaseTerms, Pick
from workbell.stores.postgres import database as database_module
from workbell.stores.postgres.store import PostgresStore
from workbell.testing.contracts.making import KEEP, add, after, request


@pytest.fixture
def store(postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PostgresStore]:
    """A store that this version made, in the hands of the next one."""
    monkeypatch.setattr(migrate, "LOCK", 0.2)
    monkeypatch.setattr(database_module, "PAUSE", 0.3)
    with next_version(tmp_path / "next").here():
        store = open_store(postgres_url)
        assert isinstance(store, PostgresStore)
        store.check()
        yield store
        store.close()


@contextmanager
def reader(url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(url, application_name="nightly dump") as connection:
        for table in ("jobs", "runs", "history", "workers"):
            connection.execute(f"SELECT count(*) FROM workbell_{table}")
        yield connection


def test_runs_are_booked_while_it_waits(store: PostgresStore, postgres_url: str) -> None:
    """It has tried several times by then, and is done soon after the reader has ended."""
    slowest, booked = 0.0, 0

    def book() -> None:
        """With all that a worker does to its row."""
        nonlocal slowest, booked
        begun = time.monotonic()
        add(store, request())
        (head,) = store.runs.survey(-1, 10)
        terms = LeaseTerms("worker", after(0), after(30), booked + 1)
        (run,) = store.runs.claim([Pick(head.lane_id, head.rank, 1)], 1, terms)
        assert store.runs.apply([state.succeed(run, after(1), result="1", keep=KEEP.succeeded)]) == {run.id}
        store.workers.see(["worker"], after(1))
        slowest, booked = max(slowest, time.monotonic() - begun), booked + 1

    with ThreadPoolExecutor(1) as thread:
        with reader(postgres_url):
            migrating = thread.submit(store.migrate)
            end = time.monotonic() + 2
            while time.monotonic() < end or booked < 5:
                book()
            assert not migrating.done()
        assert migrating.result(20) == [NAME]
    assert slowest < 5
    store.check()


def test_it_gives_up_and_names_who_is_in_the_way(
    store: PostgresStore, postgres_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(database_module, "TABLE_LOCK_SECONDS", 1.0)
    with reader(postgres_url) as connection:
        with pytest.raises(StoreUnavailable) as caught:
            store.migrate()
        told, pid = str(caught.value), connection.info.backend_pid
        assert f"pid {pid} (nightly dump, idle in transaction, open for " in told
        assert "SELECT count(*) FROM workbell_workers" in told
        assert told.endswith("`SELECT pg_terminate_backend(pid)`; then repeat `workbell migrate`.")
        (warned,) = [record.getMessage() for record in caplog.records if record.name == "workbell.store"]
        assert f"migrating waits for another transaction to end: pid {pid} (nightly dump" in warned
    assert store.migrate() == [NAME]


def test_no_index_is_built_before_the_tables_can_be_had(
    store: PostgresStore, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of a long history takes minutes, in which no run can be booked."""
    monkeypatch.setattr(database_module, "TABLE_LOCK_SECONDS", 0.0)
    begun = threading.Event()
    monkeypatch.setattr(migrate.PostgresSchema, "script", lambda *_: begun.set())
    with reader(postgres_url), pytest.raises(StoreUnavailable, match="could not be changed"):
        store.migrate()
    assert not begun.is_set()
