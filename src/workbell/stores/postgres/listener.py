"""LISTEN connection: one for each process receives the hints, for all watches of that process.

It is idle otherwise, and so is the reserve for writes that must not wait: leases are renewed on it while all other
connections of the process are busy.
"""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time
from collections.abc import Callable
from typing import TypeVar

import psycopg

from workbell.process.fork_safety import remake_after_fork
from workbell.stores.postgres.calls import Calls
from workbell.stores.postgres.connections import Connection
from workbell.stores.postgres.hints import CHANNEL

T = TypeVar("T")

AGAIN = 2.0  # seconds between two tries to connect
LENT = 1.0  # seconds to wait for the connection: it is used for moments only, unless it is just being opened


class Listener:
    """The listening connection, and the watches that share it. It is open as long as one of them is."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._connection: Connection | None = None
        self._inherited: list[Connection] = []
        self.make_process_state()
        remake_after_fork(self)

    def make_process_state(self) -> None:
        """In a forked child the parent's connection is neither used nor closed."""
        if self._connection is not None:
            self._inherited.append(self._connection)
        self._connection = None
        self._lock = threading.Lock()  # of the connection
        self._watches: set[ListenWatch] = set()
        self._demotions = 0
        self._try_at = 0.0
        self.hints = 0  # received so far

    def open(self) -> int | None:
        """The descriptor to wait for; none while there is no connection. A new one counts as a hint: something may
        have been missed."""
        with self._lock:
            if self._demotions != self._calls.demotions:
                self._drop()  # its server may no longer be the primary: no hints come from there
            if self._connection is None and time.monotonic() >= self._try_at:
                self._connect()
            return None if self._connection is None else self._connection.fileno()

    def _connect(self) -> None:
        self._try_at = time.monotonic() + AGAIN
        self._demotions = self._calls.demotions
        with contextlib.suppress(psycopg.Error):
            self._connection = self._calls.connect(f"LISTEN {CHANNEL}")
            self._connection.add_notify_handler(lambda _: self._count_hint())  # of those that come with an answer
            self._count_hint()

    def receive(self) -> None:
        """Take in what has arrived."""
        with self._lock:
            if self._connection is None:
                return
            try:
                self._connection.pgconn.consume_input()
                notified = False
                while self._connection.pgconn.notifies():
                    notified = True
                if notified:
                    self._count_hint()
            except psycopg.Error:
                self._drop()

    def _count_hint(self) -> None:
        self.hints += 1
        self._ring()

    def _ring(self) -> None:
        for watch in list(self._watches):
            watch.ring()

    def run(self, work: Callable[[Connection], T]) -> T | None:
        """One statement on this connection; none if there is no such connection at the moment."""
        if not self._lock.acquire(timeout=LENT):
            return None
        try:
            if self._connection is None:
                return None
            try:
                return self._calls.run_on(self._connection, work)
            finally:
                if self._connection.closed:
                    self._drop()
        finally:
            self._lock.release()

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
            self._ring()  # they wait for a descriptor that was closed

    def enter(self, watch: ListenWatch) -> None:
        with self._lock:
            self._watches.add(watch)

    def leave(self, watch: ListenWatch) -> None:
        with self._lock:
            self._watches.discard(watch)
            if not self._watches:
                self._drop()


class ListenWatch:
    """Watch for hints. All watches poll the same connection, so that none waits for another thread; the one that
    reads a hint wakes the others."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._interrupts = 0
        self._seen = (listener.hints, self._interrupts)
        self._bell_out, self._bell = os.pipe()
        for end in (self._bell_out, self._bell):
            os.set_blocking(end, False)
        listener.enter(self)

    def wait(self, timeout: float) -> bool:
        end = time.monotonic() + timeout
        while True:
            descriptor = self._listener.open()
            if self._is_new():
                return True
            left = end - time.monotonic()
            poll = select.poll()
            poll.register(self._bell_out, select.POLLIN)
            if descriptor is None:
                left = min(left, AGAIN)
            else:
                poll.register(descriptor, select.POLLIN)
            ready = poll.poll(max(left, 0.0) * 1000)
            with contextlib.suppress(BlockingIOError):
                while os.read(self._bell_out, 4096):
                    pass
            if ready:
                self._listener.receive()
            if self._is_new():
                return True
            if time.monotonic() >= end:
                return False

    def _is_new(self) -> bool:
        """Whether there was a hint, or an interrupt, since the last time."""
        # Counters and not flags: a flag that is set while it is being cleared would be lost.
        before, self._seen = self._seen, (self._listener.hints, self._interrupts)
        return before != self._seen

    def ring(self) -> None:
        with contextlib.suppress(OSError):  # it is full, or closed
            os.write(self._bell, b".")

    def interrupt(self) -> None:
        self._interrupts += 1
        self.ring()

    def close(self) -> None:
        self._listener.leave(self)
        os.close(self._bell_out)
        os.close(self._bell)
