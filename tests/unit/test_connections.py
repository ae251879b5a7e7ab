"""The pool of connections to PostgreSQL: never more than its size, and no place is lost."""

from __future__ import annotations

import queue
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from tests.support.interrupts import every_point
from workbell.stores.postgres import connections as module
from workbell.stores.postgres.connections import Connections

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


def pool(made: list[Connection] | None = None) -> Connections:
    def connect() -> Any:
        connection = Connection()
        if made is not None:
            made.append(connection)
        return connection

    return Connections(connect, SIZE)


def test_so_many_and_no_more() -> None:
    connections = pool()
    taken = [connections.take(0.01) for _ in range(SIZE)]
    with pytest.raises(psycopg.OperationalError, match=r"busy for over 0\.01 s"):
        connections.take(0.01)
    connections.give_back(taken.pop())
    taken.append(connections.take(0.01))
    assert len(set(map(id, taken))) == SIZE


def test_a_connection_that_cannot_be_made_costs_no_place() -> None:
    def refuse() -> Any:
        raise psycopg.OperationalError("refused")

    connections = Connections(refuse, SIZE)
    for _ in range(SIZE + 1):
        with pytest.raises(psycopg.OperationalError, match="refused"):
            connections.take(0.01)


def test_threads_that_find_dead_ones_at_once_get_new_ones() -> None:
    made: list[Connection] = []
    connections = pool(made)
    gate = threading.Barrier(SIZE)

    def work(_: int) -> None:
        for _ in range(200):
            gate.wait(30)
            connection = connections.take(5)
            connection.close()  # as all do when a server is restarted
            connections._idle.append(connection)
            connections._room.put(None)

    with ThreadPoolExecutor(SIZE) as threads:
        list(threads.map(work, range(SIZE)))
    assert len(made) == SIZE * 200


def test_an_interrupt_in_taking_or_giving_back_loses_no_place() -> None:
    """But for one point: an interrupt within the very call that takes it, which is a tenth of a microsecond."""
    connections = pool()
    for interrupt in every_point(module, threading, queue):

        def work() -> None:
            connections.give_back(connections.take(1))

        try:
            interrupt.call(work)
        except KeyboardInterrupt:
            assert interrupt.where
    assert connections._room.qsize() >= SIZE - 1
