"""The pool of connections to PostgreSQL: never more than its size, no place is lost, and idle ones are closed."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any

import psycopg
import pytest

from tests.support.interrupts import every_point
from workbell.stores import turns
from workbell.stores.postgres import connections as module
from workbell.stores.postgres.connections import IDLE_SECONDS, Connections
from workbell.stores.turns import Turn

SIZE = 3


class Connection:
    """One that is idle and usable until it is closed."""

    class info:  # noqa: N801
        transaction_status = psycopg.pq.TransactionStatus.IDLE

    closed = False

    def close(self) -> None:
        self.closed = True


@pytest.fixture(autouse=True)
def usable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "usable", lambda connection: not connection.closed)


class Pool(Connections):
    """One that keeps what it made, to be looked at."""

    def __init__(self, size: int = SIZE) -> None:
        self.made: list[Any] = []
        super().__init__(self.make, size)

    def make(self) -> Any:
        self.made.append(Connection())
        return self.made[-1]

    @property
    def open(self) -> list[Any]:
        return [connection for connection in self.made if not connection.closed]


@contextmanager
def taken(pool: Connections, timeout: float = 0.01) -> Iterator[Any]:
    """A connection, as everybody takes it."""
    turn, connection = Turn(), None
    with turn.here:
        try:
            connection = pool.take(turn, timeout)
            yield connection
        finally:
            pool.give_back(turn, connection)


def take_all(pool: Connections, count: int) -> list[Any]:
    """So many at once; given back before the answer."""
    with ExitStack() as stack:
        return [stack.enter_context(taken(pool)) for _ in range(count)]


def test_so_many_and_no_more() -> None:
    pool = Pool()
    with ExitStack() as stack:
        found = [stack.enter_context(taken(pool)) for _ in range(SIZE - 1)]
        with taken(pool) as last:
            with pytest.raises(psycopg.OperationalError, match=r"busy for over 0\.01 s"), taken(pool):
                pass
            found.append(last)
        with taken(pool) as again:
            assert again is last
    assert len(set(map(id, found))) == len(pool.open) == SIZE


def test_a_connection_that_cannot_be_made_costs_no_place() -> None:
    def refuse() -> Any:
        raise psycopg.OperationalError("refused")

    connections = Connections(refuse, SIZE)
    for _ in range(SIZE + 1):
        with pytest.raises(psycopg.OperationalError, match="refused"), taken(connections):
            pass


def test_threads_that_find_dead_ones_at_once_get_new_ones() -> None:
    pool = Pool()
    gate = threading.Barrier(SIZE)

    def work(_: int) -> None:
        for _ in range(200):
            gate.wait(30)
            with taken(pool, 5) as connection:
                pass
            connection.close()  # as all do when a server is restarted

    with ThreadPoolExecutor(SIZE) as threads:
        list(threads.map(work, range(SIZE)))
    assert not pool.open
    assert len(take_all(pool, SIZE)) == SIZE


def test_what_nobody_needs_is_closed_after_a_while() -> None:
    pool = Pool()
    take_all(pool, SIZE)
    now = time.monotonic()
    pool.trim(now)
    assert len(pool.open) == SIZE
    pool.trim(now + IDLE_SECONDS + 1)
    assert len(pool.open) == 1, "one is always at hand"
    pool.fill(2)
    pool.trim(now + 2 * IDLE_SECONDS + 2)
    assert len(pool.open) == 2, "and as many as were asked for"


def test_a_place_can_be_set_aside() -> None:
    pool = Pool(1)
    turn = Turn()
    with turn.here:
        pool.take(turn, 0)
        free = pool.set_aside(turn)
    with pytest.raises(module.AllBusy), taken(pool):
        pass
    free()
    with taken(pool):
        pass


def test_another_size() -> None:
    pool = Pool()
    pool.fill(SIZE)
    pool.resize(1)
    with taken(pool), pytest.raises(module.AllBusy), taken(pool):
        pass
    pool.trim(time.monotonic() + IDLE_SECONDS + 1)
    assert len(pool.open) == 1
    pool.resize(2)
    assert len(take_all(pool, 2)) == 2


def test_an_interrupt_in_taking_or_giving_back_loses_no_place() -> None:
    pool = Pool()

    def work() -> None:
        turn, connection = Turn(), None
        with turn.here:
            try:
                connection = pool.take(turn, 1)
            finally:
                pool.give_back(turn, connection)

    for interrupt in every_point(module, turns):
        try:
            interrupt.call(work)
        except KeyboardInterrupt:
            assert interrupt.where
        assert len(take_all(pool, SIZE)) == SIZE, interrupt.where
