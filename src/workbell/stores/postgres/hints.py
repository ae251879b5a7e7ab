"""LISTEN and NOTIFY as hints: gathered, sent outside of transactions, and never relied upon.

A NOTIFY inside the enqueue's transaction would take a database-wide lock at commit. So they are sent afterwards, at
most one in ten milliseconds however many runs are made.
"""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time

import psycopg

from workbell.afresh import in_every_child
from workbell.stores.postgres.connections import Connection
from workbell.stores.postgres.database import Database

CHANNEL = "workbell"
GAP = 0.01
OVERDUE = 0.1  # seconds after which a hint that should be on its way is one that its thread was not told of
LATER = (0.02, 0.2, 1.0)  # when a caller's own transaction has probably been committed


class Notifier:
    """Sends hints for this process."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._closed = False
        self.start_afresh()
        in_every_child(self)

    def start_afresh(self) -> None:
        self._guard = threading.Lock()  # entered itself: an interrupt within `with condition:` would keep it
        self._due = threading.Condition(self._guard)
        self._times: list[float] = []
        self._last = 0.0
        self._thread: threading.Thread | None = None

    def send(self) -> None:
        """Now, if the last one is a while ago: at once and here, because another thread would be half a
        millisecond later. Else a thread sends one for all that come meanwhile."""
        now = time.monotonic()
        with self._guard:
            alone = now - self._last >= GAP and not self._closed
            if alone:
                self._last = now
        if alone:
            self._notify()
        else:
            self.send_later((max(self._last + GAP - now, 0.0),))

    def send_later(self, delays: tuple[float, ...]) -> None:
        now = time.monotonic()
        with self._guard:
            if len(delays) == 1 and self._times and now - OVERDUE <= self._times[0] <= now + GAP:
                return  # one is on its way
            self._times = sorted([*self._times, *(now + delay for delay in delays)])
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="workbell-notify", daemon=True)
                thread.start()
                self._thread = thread  # last: an interrupt before it must not leave one that was never started
            self._due.notify()

    def _run(self) -> None:
        while True:
            with self._guard:
                while not self._closed and (not self._times or self._times[0] > time.monotonic()):
                    self._due.wait(self._times[0] - time.monotonic() if self._times else None)
                if self._closed:
                    return
                self._last = time.monotonic()
                self._times = [moment for moment in self._times if moment > self._last]
            self._notify()

    def _notify(self) -> None:
        with contextlib.suppress(Exception):  # a hint that cannot be sent is no loss
            self._database.run(lambda c: c.execute("SELECT pg_notify(%s, '')", (CHANNEL,)), transaction=False)

    def close(self) -> None:
        with self._guard:
            self._closed = True
            self._due.notify()


class ListenWatch:
    """Waits for hints of other processes, on a connection of its own."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._connection: Connection | None = None
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        self._demotions = 0
        self._try_at = 0.0

    def wait(self, timeout: float) -> bool:
        heard = self._listen()
        poll = select.poll()
        poll.register(self._wake_read, select.POLLIN)
        if self._connection is not None:
            poll.register(self._connection.fileno(), select.POLLIN)
        if heard:
            return True
        if not poll.poll(timeout * 1000):
            return False
        with contextlib.suppress(BlockingIOError):
            while os.read(self._wake_read, 4096):
                pass
        self._consume()
        return True

    def _listen(self) -> bool:
        """Connect if need be. A new connection counts as a hint: something may have been missed."""
        if self._demotions != self._database.demotions:
            self._drop()  # the one that we listen to may be a primary no more: nothing is heard there
        if self._connection is not None or time.monotonic() < self._try_at:
            return False
        self._try_at = time.monotonic() + 2
        self._demotions = self._database.demotions
        try:
            self._connection = self._database.connect(f"LISTEN {CHANNEL}")
        except psycopg.Error:
            self._drop()
            return False
        return True

    def _consume(self) -> None:
        if self._connection is None:
            return
        try:
            self._connection.pgconn.consume_input()
            while self._connection.pgconn.notifies():
                pass
        except psycopg.Error:
            self._drop()

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def interrupt(self) -> None:
        os.write(self._wake_write, b".")

    def close(self) -> None:
        self._drop()
        os.close(self._wake_read)
        os.close(self._wake_write)
