"""Locks on PostgreSQL: a frozen process lets go of them, and whoever waits for one leaves nothing behind there."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psutil
import psycopg
import pytest

from tests.support.waiting import until
from workbell.errors import StoreUnavailable
from workbell.model import state
from workbell.process.platform import platform
from workbell.stores.postgres import calls as calls_module
from workbell.stores.postgres import deadlines as deadlines_module
from workbell.stores.postgres.store import CONNECTIONS, PostgresStore
from workbell.testing.contracts.making import after, claimed, find, held

# Stops itself in the middle of a transaction of ours, as a SIGSTOP or a paused machine does.
FROZEN = """
import os, signal, sys
from workbell.app import open_store
from workbell.stores.postgres import calls

calls.IDLE = 1.0
store = open_store(sys.argv[1])
stops = 1

def work(session):
    global stops
    session.text_rows("UPDATE workbell_runs SET progress = '1' WHERE id = CAST(:id AS uuid)", {"id": sys.argv[2]})
    if stops:
        stops -= 1
        os.kill(os.getpid(), signal.SIGSTOP)

try:
    store.database.run_write(work)
except Exception as error:
    print(type(error).__name__, error, flush=True)
else:
    print("done", flush=True)
"""
OURS = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'workbell' AND datname = current_database()"
WAITING = f"{OURS} AND wait_event_type = 'Lock'"
SIZE = CONNECTIONS - 1  # none of these stores listens


@contextmanager
def frozen(url: str, run: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen([sys.executable, "-c", FROZEN, url, run], stdout=subprocess.PIPE, text=True)
    try:
        until(lambda: psutil.Process(process.pid).status() == psutil.STATUS_STOPPED, "the process to be frozen", 60)
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def locked(url: str, statement: str, *values: Any) -> Iterator[psycopg.Connection]:
    """Somebody else's transaction that stays open."""
    with psycopg.connect(url) as connection:
        connection.execute(statement, values)
        yield connection


def test_a_frozen_process_lets_go_of_its_locks(postgres_store: PostgresStore, postgres_url: str) -> None:
    """Its run can be booked by whoever has it, and it goes on itself when it wakes."""
    run = claimed(postgres_store)
    with frozen(postgres_url, run.id) as process:
        begun = time.monotonic()
        ended = state.succeed(run, after(1), result="1", keep=state.Retention().succeeded)
        assert postgres_store.runs.apply([ended]) == {run.id}
        assert time.monotonic() - begun < calls_module.IDLE
        process.send_signal(signal.SIGCONT)
        assert process.communicate(timeout=30)[0] == "done\n"


@pytest.mark.parametrize(
    "statement",
    [
        "COPY workbell_runs (id) FROM STDIN",
        "UPDATE workbell_runs SET progress = '2' RETURNING repeat('x', 30000000)",
    ],
)
def test_upkeep_ends_what_is_frozen_in_the_middle_of_a_message(
    postgres_store: PostgresStore, postgres_url: str, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    """Of a COPY that was not sent to its end, or an answer that is not read, the server sees no end by itself."""
    run = claimed(postgres_store)
    with psycopg.connect(postgres_url, application_name="workbell") as frozen:
        frozen.execute("UPDATE workbell_runs SET progress = '1'")
        frozen.pgconn.send_query(statement.encode())
        frozen.pgconn.flush()
        with psycopg.connect(postgres_url, autocommit=True) as looking:

            def is_there(condition: str) -> bool:
                query = f"SELECT 1 FROM pg_stat_activity WHERE pid = %s {condition}"
                return looking.execute(query, [frozen.info.backend_pid]).fetchone() is not None

            in_the_middle = "AND state = 'active' AND wait_event IN ('ClientRead', 'ClientWrite')"
            until(lambda: is_there(in_the_middle), "it to be stuck")
            postgres_store.tidy()  # it is not old enough
            with monkeypatch.context() as impatient:
                impatient.setattr(calls_module, "DEADLINE", 0.6)
                with pytest.raises(StoreUnavailable, match="for a lock that another transaction holds"):
                    postgres_store.runs.mark_alone(held(run))
                until(lambda: postgres_store.tidy() or not is_there(""), "the server to end it", 10)
        assert postgres_store.runs.mark_alone(held(run))
        frozen.close()


def test_nothing_is_written_after_a_long_freeze(postgres_store: PostgresStore, monkeypatch) -> None:
    """A unit that slept for longer than its deadline is not repeated: what it was about to write is out of date."""
    monkeypatch.setattr(calls_module, "DEADLINE", 0.6)
    monkeypatch.setattr(deadlines_module, "PACE", 30)  # the deadline's own thread has slept as well
    calls = []

    def work(session: Any) -> None:
        session.text_rows("SELECT 1", {})
        calls.append(1)
        time.sleep(1)
        session.text_rows("SELECT 1", {})

    with pytest.raises(StoreUnavailable, match=r"stood still for over 0\.2 s in a transaction, which was rolled back"):
        postgres_store.database.run_write(work)
    assert calls == [1]


def test_a_lock_wait_says_what_it_is(postgres_store: PostgresStore, postgres_url: str, monkeypatch) -> None:
    """In a transaction of several statements the server ends the wait; one alone is cancelled at its deadline."""
    monkeypatch.setattr(calls_module, "DEADLINE", 1.0)
    run = claimed(postgres_store, key="k")
    ended = state.succeed(run, after(1), result="1", keep=state.Retention().succeeded)
    with locked(postgres_url, "SELECT 1 FROM workbell_runs WHERE id = %s FOR UPDATE", run.id):
        for verb, expected in (
            (lambda: postgres_store.runs.apply([ended]), "waited over 0.5 s for a lock that another transaction holds"),
            (lambda: postgres_store.runs.set_progress(held(run), "1"), "not done within 1 s, and cancelled"),
        ):
            with pytest.raises(StoreUnavailable) as caught:
                verb()
            assert expected in str(caught.value)
            assert "see who with `workbell doctor`" in str(caught.value)
            assert postgres_store.database.calls.name in str(caught.value)
    assert find(postgres_store, run) == run


def test_callers_behind_a_table_lock_leave_nothing_behind(
    postgres_url: str, postgres_store: PostgresStore, monkeypatch
) -> None:
    """The deadline cancels a call on the server: closing a socket alone leaves the server's process in the queue."""
    monkeypatch.setattr(calls_module, "DEADLINE", 0.5)
    monkeypatch.setattr(deadlines_module, "PACE", 0.05)
    stop, told = threading.Event(), []

    def dispatch() -> None:
        while not stop.is_set():
            try:
                postgres_store.runs.dispatch(after(1), 10)
            except StoreUnavailable as error:
                told.append(str(error))

    threads = [threading.Thread(target=dispatch) for _ in range(12)]
    with psycopg.connect(postgres_url, autocommit=True) as looking:

        def count(query: str) -> int:
            (found,) = looking.execute(query).fetchone() or (0,)
            return int(found)

        with locked(postgres_url, "LOCK TABLE workbell_runs IN ACCESS EXCLUSIVE MODE"):
            for thread in threads:
                thread.start()
            most = 0
            while len(told) < 40:  # each of the connections is cut off several times
                most = max(most, count(OURS))
            stop.set()
            for thread in threads:
                thread.join(30)
            # With the lock still there.
            until(lambda: count(WAITING) == 0, "nobody to wait for it", 5)
        assert SIZE <= most <= SIZE + 4, "as many as the pool has, and those that are just being closed"
        cancelled = [text for text in told if "not done within 0.5 s, and cancelled; if it waited for a lock" in text]
        busy = [text for text in told if "all connections of this process were busy" in text]
        assert len(cancelled) + len(busy) == len(told)
        assert postgres_store.runs.dispatch(after(1), 10) == []
        until(lambda: count(OURS) <= SIZE, "no more than the pool has", 5)


def test_connections_that_were_cut_off_are_counted(postgres_url: str, monkeypatch) -> None:
    """Frozen ones on the server answer to no cancel. In their places only a few others are opened; any number of them
    where the system does not say whether the server has closed its end."""
    monkeypatch.setattr(calls_module, "DEADLINE", 0.3)
    monkeypatch.setattr(calls_module, "WAIT", 1.0)
    for name, seconds in {"PACE": 0.02, "GRACE": 0.1, "REUSE_AFTER": 0.1}.items():
        monkeypatch.setattr(deadlines_module, name, seconds)
    database = calls_module.Calls(postgres_url, size=1)
    suspended: list[psutil.Process] = []

    def freeze(connection: psycopg.Connection[Any]) -> None:
        suspended.append(psutil.Process(connection.info.backend_pid))
        suspended[-1].suspend()
        connection.execute("SELECT 1")

    def ask() -> bool:
        with suppress(StoreUnavailable):
            return database.run(lambda c: c.execute("SELECT 1").fetchone(), transaction=False) == (1,)
        return False

    try:
        with pytest.raises(StoreUnavailable, match=r"did not answer within 0\.3 s"):
            database.run(freeze, transaction=False)
        assert until(ask, "a connection in its place", 10)
        with pytest.raises(StoreUnavailable, match=r"did not answer within 0\.3 s"):
            database.run(freeze, transaction=False)
        if not platform().tcp_info:
            assert until(ask, "a connection in its place", 10)
            return
        with pytest.raises(StoreUnavailable, match="all connections of this process were busy for over 1 s"):
            database.run(freeze, transaction=False)
        assert len(suspended) == 2
    finally:
        for process in suspended:
            with suppress(psutil.NoSuchProcess):
                process.resume()
    assert until(ask, "the server to let go of them, and a new connection", 10)
    database.close()


def test_filling_that_fails_halfway_gives_back_what_it_took(postgres_url: str, monkeypatch) -> None:
    database = calls_module.Calls(postgres_url, size=2)
    real, made = database.connections._connect, []

    def connect() -> psycopg.Connection[Any]:
        if made:
            raise psycopg.OperationalError("no more")
        made.append(real())
        return made[-1]

    monkeypatch.setattr(database.connections, "_connect", connect)
    for _ in range(3):
        with pytest.raises(StoreUnavailable, match="no more"):
            database.fill(2)
    assert database.run(lambda c: c.execute("SELECT 1").fetchone(), transaction=False) == (1,)
    database.close()


def test_an_interrupted_transaction_is_rolled_back(postgres_store: PostgresStore) -> None:
    """Whatever ends a unit of work, nothing of it stays, and the connection is as good as new."""
    run = claimed(postgres_store)

    def work(session: Any) -> None:
        session.text_rows("UPDATE workbell_runs SET progress = '1' WHERE id = CAST(:id AS uuid)", {"id": run.id})
        raise KeyboardInterrupt

    idle = len(postgres_store.database.calls.connections._idle)
    with pytest.raises(KeyboardInterrupt):
        postgres_store.database.run_write(work)
    assert find(postgres_store, run) == run
    assert len(postgres_store.database.calls.connections._idle) == max(idle, 1)


def test_the_ends_of_a_transaction_are_its_own(postgres_store: PostgresStore) -> None:
    """A pooler gives the session to somebody else afterwards: nothing of ours stays on it."""
    names = ("idle_in_transaction_session_timeout", "lock_timeout", "statement_timeout")

    def settings(session: Any) -> list[str]:
        return [session.text_rows(f"SHOW {name}", {})[0][0] for name in names]

    assert postgres_store.database.run_write(settings) == ["5s", "7500ms", "12s"]
    assert postgres_store.database.run_read(settings) == ["0", "0", "0"]
    with pytest.raises(ZeroDivisionError):
        postgres_store.database.run_write(lambda _: 1 / 0)
    assert postgres_store.database.run_read(settings) == ["0", "0", "0"]
