"""Few connections to PostgreSQL: what must not wait does not, one of them listens for all, and none is lost (B2)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from tests.support.databases import Databases
from tests.support.inside.making import START, after, claimed, find, held, request
from tests.support.inside.stores import Busy, Calls, PostgresStore, keyed_writes, turns
from tests.support.inside.stores import postgres_calls as calls_module
from tests.support.inside.stores import postgres_connections as connections
from tests.support.inside.stores import postgres_deadlines as deadlines
from tests.support.inside.values import state
from tests.support.interrupts import every_point
from tests.support.waiting import until

LONG = timedelta(days=1)
OURS = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'workbell' AND datname = current_database()"


@pytest.fixture
def store(postgres_url: str, databases: Databases) -> Iterator[PostgresStore]:
    """As a worker has it: two connections, and one that listens."""
    store = PostgresStore(postgres_url, connections=3)
    databases.lend(postgres_url, store)  # one that an earlier test has left open would count beside those of the store
    store.check()
    yield store
    store.close()


@pytest.fixture
def sessions(postgres_url: str) -> Iterator[Callable[[], int]]:
    """How many connections of ours the server has."""
    with psycopg.connect(postgres_url, autocommit=True) as looking:

        def count() -> int:
            (found,) = looking.execute(OURS).fetchone() or (0,)
            return int(found)

        yield count


@contextmanager
def all_busy(store: PostgresStore, places: int = 2) -> Iterator[None]:
    """Nothing of a process but its listening connection is free."""
    begun, end = threading.Semaphore(0), threading.Event()

    def hold(_: object) -> None:
        begun.release()
        assert end.wait(30)

    threads = [threading.Thread(target=lambda: store.database.run_read(hold)) for _ in range(places)]
    for thread in threads:
        thread.start()
    for _ in threads:
        assert begun.acquire(timeout=30)
    try:
        yield
    finally:
        end.set()
        for thread in threads:
            thread.join(30)


def renew(store: PostgresStore, run: Any) -> list[str]:
    renewed = store.runs.renew([held(run)], now=START, lease_until=after(90))
    return [one.run_id for one in renewed]


def test_leases_are_renewed_while_all_connections_are_busy(store: PostgresStore, sessions: Callable[[], int]) -> None:
    run = claimed(store)
    watch = store.watch()
    watch.wait(0)  # it listens from now on
    with all_busy(store):
        assert renew(store, run) == [run.id]
        assert sessions() == 3
    assert find(store, run).lease_until == after(90)
    watch.close()


def test_a_hint_that_comes_with_a_renewal_is_heard(store: PostgresStore, postgres_url: str) -> None:
    """On the same connection the server may send both at once."""
    run = claimed(store)
    watch = store.watch()
    watch.wait(0)
    while watch.wait(0):
        pass
    with all_busy(store), psycopg.connect(postgres_url, autocommit=True) as other:
        other.execute("NOTIFY workbell")
        assert renew(store, run) == [run.id]
        assert watch.wait(10)
        assert renew(store, run) == [run.id]
        assert not watch.wait(0.05), "the answer to a renewal is no hint"
    watch.close()


def test_without_a_listening_connection_a_renewal_is_first(store: PostgresStore) -> None:
    order: list[str] = []
    run = claimed(store)

    def ask(name: str, work: Callable[[], object]) -> threading.Thread:
        waiting = len(store.calls.connections._turns._queue)
        thread = threading.Thread(target=lambda: (work(), order.append(name)))
        thread.start()
        until(lambda: len(store.calls.connections._turns._queue) > waiting, f"{name} to wait")
        return thread

    store.limit_connections(2)
    with all_busy(store, 1):
        threads = [ask("read", lambda: store.database.run_read(lambda session: session.rows("time")))]
        threads += [ask("read", lambda: store.database.run_read(lambda session: session.rows("time")))]
        done = state.succeed(run, START, result=None, keep=LONG)
        threads += [ask("finish", lambda: store.runs.apply([done]))]
        threads += [ask("renew", lambda: renew(store, run))]
    for thread in threads:
        thread.join(30)
    assert order == ["renew", "finish", "read", "read"]


def test_a_hint_waits_for_no_connection(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls_module, "WAIT", 60.0)
    watch = store.watch()
    watch.wait(0)
    while watch.wait(0):
        pass
    with all_busy(store):
        waking = threading.Thread(target=store.wake)
        waking.start()
        waking.join(10)
        assert not waking.is_alive()
        assert not watch.wait(0.05)
    assert watch.wait(10), "and is sent when there is one"
    watch.close()


def test_one_connection_listens_for_all(store: PostgresStore, sessions: Callable[[], int], postgres_url: str) -> None:
    watches = [store.watch() for _ in range(3)]
    for watch in watches:
        while watch.wait(0):
            pass
    assert sessions() == 3
    heard = threading.Semaphore(0)
    threads = [threading.Thread(target=lambda watch=watch: watch.wait(30) and heard.release()) for watch in watches]
    for thread in threads:
        thread.start()
    with psycopg.connect(postgres_url, autocommit=True) as other:
        other.execute("NOTIFY workbell")
    for _ in threads:
        assert heard.acquire(timeout=30)
    for thread in threads:
        thread.join(30)
    for watch in watches:
        watch.close()
    until(lambda: sessions() == 2, "nobody to listen any more")


def test_runs_that_a_queue_announces_wake_nobody(store: PostgresStore) -> None:
    """A NOTIFY would wake every worker, and each would read the store."""
    watch = store.watch()
    while watch.wait(0.1):
        pass
    store.runs.add([request()], hint=False)
    assert not watch.wait(0.3)
    watch.close()


def test_a_listening_connection_that_is_ended_is_opened_again(store: PostgresStore, postgres_url: str) -> None:
    watch, other = store.watch(), store.watch()
    for one in (watch, other):
        while one.wait(0):
            pass
    with psycopg.connect(postgres_url, autocommit=True) as admin:
        query = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"
        admin.execute(query + " AND datname = current_database()")
        assert watch.wait(30), "a new connection counts as a hint"
        assert other.wait(30)
        admin.execute("NOTIFY workbell")
        assert watch.wait(30)
        assert other.wait(30)
    watch.close()
    other.close()


def test_idle_connections_are_given_back(
    store: PostgresStore, sessions: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    with all_busy(store):
        assert sessions() == 2
    monkeypatch.setattr(connections, "IDLE_SECONDS", 0.1)
    until(lambda: sessions() == 1, "one that is kept at hand")


def test_keyed_writes_that_wait_leave_connections_to_others() -> None:
    """Of however few there are."""
    for size in (1, 2, 4, 8, 100):
        waits = keyed_writes.LockWaits(size)
        room = waits.waiting._room
        assert 1 <= room <= max(size // 2, 1)
        assert 1 <= waits.alone._room <= max(size // 2, 1)


@pytest.mark.parametrize("transaction", [False, True])
def test_an_interrupt_anywhere_loses_no_connection(postgres_url: str, transaction: bool) -> None:
    database = Calls(postgres_url, size=2)

    def ask() -> object:
        return database.run(lambda c: c.execute("SELECT 1").fetchone(), transaction=transaction, pool_wait=5)

    ask()
    for interrupt in every_point(calls_module, connections, deadlines, turns):
        try:
            interrupt.call(ask)
        except KeyboardInterrupt:
            assert interrupt.where
        assert all(turn.gone for turn in database.connections._turns._holders), interrupt.where
        assert ask() == (1,), interrupt.where
    database.close()


def test_all_busy_names_the_setting(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls_module, "WAIT", 0.01)
    with all_busy(store), pytest.raises(Busy, match="raise the setting `connections`"):
        store.database.run_read(lambda session: session.rows("time"))


def test_a_lease_outlives_a_booking_that_waits_for_a_lock(store: PostgresStore, postgres_url: str) -> None:
    """Two bookings that wait have both connections; the leases of the others go on."""
    runs = [claimed(store) for _ in range(3)]
    watch = store.watch()
    watch.wait(0)
    with psycopg.connect(postgres_url) as other:
        other.execute("SELECT 1 FROM workbell_runs WHERE id = ANY(%s::uuid[]) FOR UPDATE", ([r.id for r in runs[:2]],))
        done = [state.succeed(run, START, result=None, keep=LONG) for run in runs[:2]]
        threads = [threading.Thread(target=store.runs.apply, args=[[one]]) for one in done]
        for thread in threads:
            thread.start()
        until(lambda: len(store.calls.connections._turns._holders) == 2, "both to be busy")
        assert renew(store, runs[2]) == [runs[2].id]
        assert all(thread.is_alive() for thread in threads)
        other.rollback()
    for thread in threads:
        thread.join(30)
    assert find(store, runs[2]).lease_until == after(90)
    assert find(store, runs[0]).status.final
    watch.close()
