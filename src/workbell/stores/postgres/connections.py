"""Connection pool: the last connection given back is the first one taken.

Written here because psycopg-pool costs a lone enqueue a tenth of its time, and three threads a process: it hands
connections over between threads, fills up in the background, and waits for seconds before it says that a server is
not there. A list and a limit are all that is needed.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import psycopg

from workbell.stores.turns import Turn, Turns

Connection = psycopg.Connection[Any]

IDLE_SECONDS = 60.0  # an idle connection is closed after this


class AllBusy(psycopg.OperationalError):
    """No connection became free in time."""


class Connections:
    """Pool of at most `size` connections; none is opened before it is needed, and few stay open when idle.

    A caller holds the `here` of its turn meanwhile (see turns.py), so that no interrupt loses a slot.
    """

    def __init__(self, connect: Callable[[], Connection], size: int) -> None:
        self._connect = connect
        self._turns = Turns(size)
        self._least = 1  # connections that stay open however long they are idle
        self._idle: list[tuple[Connection, float]] = []  # since when; the longest first
        self._closed = False

    def take(self, turn: Turn, timeout: float, *, first: bool = False) -> Connection:
        """Wait for a connection; `first` goes before the others that wait."""
        if not self._turns.take(turn, timeout, first=first):
            raise AllBusy(f"all connections of this process were busy for over {timeout:g} s")
        while True:
            try:
                connection, _ = self._idle.pop()
            except IndexError:  # not checked before: other threads take from the list at the same time
                return self._connect()
            if usable(connection):
                return connection
            connection.close()

    def give_back(self, turn: Turn, connection: Connection | None) -> None:
        """End a turn. A connection with an unfinished transaction, or none any more, is not used again."""
        try:
            if connection is not None:
                idle = connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
                if idle and not self._closed:
                    self._idle.append((connection, time.monotonic()))
                else:
                    connection.close()
        finally:
            self._turns.give_back(turn)

    def set_aside(self, turn: Turn) -> Callable[[], None]:
        """Reserve the slot of a turn beyond its end; call the answer to free it."""
        reserved = Turn()
        reserved.here.acquire()
        self._turns.hand_over(turn, reserved)
        return lambda: self._turns.give_back(reserved)

    def fill(self, count: int) -> None:
        """Open so many connections ahead, and leave them open: a run would wait ten milliseconds for each."""
        self._least = max(self._least, count)
        with suppress(AllBusy):  # then they are there
            self._fill(count)

    def _fill(self, count: int) -> None:
        turn, connection = Turn(), None
        with turn.here:
            try:
                connection = self.take(turn, 1)
                if count > 1:
                    self._fill(count - 1)
            finally:
                self.give_back(turn, connection)

    def resize(self, size: int) -> None:
        """Change the limit."""
        self._turns.resize(size)
        self._least = min(self._least, size)

    def trim(self, now: float) -> None:
        """Close connections that were idle for a while."""
        with suppress(IndexError):  # others take them meanwhile
            while len(self._idle) > self._least and now - self._idle[0][1] > IDLE_SECONDS:
                self._idle.pop(0)[0].close()

    def discard(self) -> None:
        """Close the idle ones: the next call opens a new one."""
        with suppress(IndexError):  # others take them meanwhile
            while True:
                self._idle.pop()[0].close()

    def close(self) -> None:
        self._closed = True
        self.discard()


def usable(connection: Connection) -> bool:
    """Whether an idle connection is still open: if its socket can be read, the server has ended it."""
    if connection.closed:
        return False
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN | select.POLLERR | select.POLLHUP)
    return not poll.poll(0)
