"""Connections that are kept for reuse: the last one given back is the first one taken.

Written here because psycopg-pool costs a lone enqueue a tenth of its time, and three threads a process: it hands
connections over between threads, fills up in the background, and waits for seconds before it says that a server is
not there. A list and a limit are all that is needed.
"""

from __future__ import annotations

import select
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

import psycopg

Connection = psycopg.Connection[Any]


class AllBusy(psycopg.OperationalError):
    """No connection became free in time."""


class Connections:
    """At most `size` connections in use at once; none is made before it is needed."""

    def __init__(self, connect: Callable[[], Connection], size: int) -> None:
        self._connect = connect
        # A place for each. A threading.Semaphore would lose one for good to an interrupt in the middle of a call. This
        # is written in C: only an interrupt just after `get`, or just before `give_back`, still can.
        self._room: SimpleQueue[None] = SimpleQueue()
        for _ in range(size):
            self._room.put(None)
        self._idle: list[Connection] = []
        self._closed = False

    def take(self, timeout: float) -> Connection:
        try:
            self._room.get(timeout=timeout)
        except Empty:
            raise AllBusy(f"all connections of this process were busy for over {timeout:g} s") from None
        try:
            while True:
                try:
                    connection = self._idle.pop()
                except IndexError:  # asked for forgiveness: others take from the list at the same time
                    return self._connect()
                if usable(connection):
                    return connection
                connection.close()
        except BaseException:
            self._room.put(None)
            raise

    def fill(self, count: int) -> None:
        """Have so many at hand: opening one takes ten milliseconds, in which a run would have to wait."""
        taken: list[Connection] = []
        try:
            while len(taken) < count:
                taken.append(self.take(1))
        finally:
            for connection in taken:
                self.give_back(connection)

    def give_back(self, connection: Connection) -> None:
        """A connection with an unfinished transaction, or none any more, is not used again."""
        try:
            idle = connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
            if idle and not self._closed:
                self._idle.append(connection)
            else:
                connection.close()
        finally:
            self._room.put(None)

    def release(self) -> None:
        """Another connection may be opened, in place of one that was taken and is closed."""
        self._room.put(None)

    def discard(self) -> None:
        """Close the idle ones: the next call opens a new one."""
        with suppress(IndexError):  # others take them meanwhile
            while True:
                self._idle.pop().close()

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
