"""Connections that are kept for reuse: the last one given back is the first one taken.

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

KEPT = 60.0  # seconds that a connection may be idle, before it is closed


class AllBusy(psycopg.OperationalError):
    """No connection became free in time."""


class Connections:
    """At most `size` connections at once; none is made before it is needed, and few are kept when idle.

    Who takes one holds the `here` of a turn meanwhile (see turns.py), so that no interrupt loses a place.
    """

    def __init__(self, connect: Callable[[], Connection], size: int) -> None:
        self._connect = connect
        self._turns = Turns(size)
        self._least = 1  # idle ones that are kept however long they are idle
        self._idle: list[tuple[Connection, float]] = []  # since when; the longest first
        self._closed = False

    def take(self, turn: Turn, timeout: float, *, first: bool = False) -> Connection:
        """Wait for a place; `first` passes the others that wait."""
        if not self._turns.take(turn, timeout, first=first):
            raise AllBusy(f"all connections of this process were busy for over {timeout:g} s")
        while True:
            try:
                connection, _ = self._idle.pop()
            except IndexError:  # asked for forgiveness: others take from the list at the same time
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
        """Keep a place from being used, although its turn ends; call the answer to free it."""
        kept = Turn()
        kept.here.acquire()
        self._turns.hand_over(turn, kept)
        return lambda: self._turns.give_back(kept)

    def fill(self, count: int) -> None:
        """Have so many at hand, and keep them: opening one takes ten milliseconds, in which a run would have to
        wait."""
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
        """Another limit, from now on."""
        self._turns.resize(size)
        self._least = min(self._least, size)

    def trim(self, now: float) -> None:
        """Close what nobody has needed for a while."""
        with suppress(IndexError):  # others take them meanwhile
            while len(self._idle) > self._least and now - self._idle[0][1] > KEPT:
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
    """An idle connection has nothing to say; if its socket can be read, the server has ended it."""
    if connection.closed:
        return False
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN | select.POLLERR | select.POLLHUP)
    return not poll.poll(0)
