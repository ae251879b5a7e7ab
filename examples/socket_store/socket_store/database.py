"""Database adapter: the SQL engine port of Workbell, over a socket."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime
from typing import Any, NoReturn

from socket_store.connection import Connection
from workbell import StoreError, StoreUnavailable, WrongConnection
from workbell.model.clock import Clock, SystemClock
from workbell.stores.database import Batch, Conflict, Row, Tables
from workbell.stores.sqlite.dialect import SQLITE
from workbell.stores.sqlite.tables import SqliteTables

PACE = 0.05  # seconds between two questions whether something was committed


class SocketDatabase:
    """One file of the server, by one connection: the server does one thing after the other anyway."""

    dialect = SQLITE
    connections = 1

    def __init__(self, host: str, port: int, name: str) -> None:
        self.clock: Clock = SystemClock()
        self._name = name
        self._where = f"{name} at {host}:{port}"
        self._connection = Connection(host, port, self._where)
        self._tables = SqliteTables(self._read, self._write)
        self._is_ready = False

    # Batches

    def read(self, batch: Batch) -> list[list[Row]]:
        self.ready()
        return self._read(batch)

    def write(self, batch: Batch, *, first: bool = False, lock: float | None = None) -> list[list[Row]]:
        """There is one writer: nobody waits for a lock of a row, and so `lock` changes nothing."""
        self.ready()
        return self._write(batch, first)

    def _read(self, batch: Batch) -> list[list[Row]]:
        return self._execute(batch, write=False)

    def _write(self, batch: Batch, first: bool = False) -> list[list[Row]]:
        return self._execute(batch, write=True, first=first)

    def _execute(self, batch: Batch, *, write: bool, first: bool = False) -> list[list[Row]]:
        bound = [SQLITE.bind(statement) for statement in batch]
        request = {"name": self._name, "write": write, "batch": [[one.sql, one.values, one.exactly] for one in bound]}
        told = self._connection.call(request, again=not write, first=first)
        if "conflict" in told:
            query = None if told["at"] is None else batch[told["at"]].query
            raise Conflict(f"{self._where}: {query or 'a statement'}: {told['conflict']}; repeat the call.", query)
        if "error" in told:
            raise StoreError(f"{self._where}: the server refused a batch: {told['error']}; see its folder and version.")
        return [SQLITE.answer(one.query, *answer) for one, answer in zip(bound, told["answers"], strict=True)]

    # Tables

    def ready(self, *, joining: bool = False) -> None:
        if not self._is_ready:
            if not self._tables.check(self._where):
                self._tables.migrate()
            self._is_ready = True

    def tables(self) -> Tables | None:
        return self._tables.read()

    def migrate(self) -> list[str]:
        self._is_ready = False
        return self._tables.migrate()

    # Hints

    hints = True

    def watch(self) -> PollingWatch:
        return PollingWatch(self)

    def wake(self) -> None:
        """Nothing to send: watchers ask."""

    def wake_later(self) -> None:
        """Nothing to send either."""

    def commits(self) -> int:
        """A number that changes with every commit."""
        return int(self._ask()["commits"])

    # What it cannot do

    def borrow(self, connection: Any) -> NoReturn:
        raise WrongConnection(
            f"connection=: no connection of yours can be one to {self._where}; leave connection= out, or use a store "
            "in your own database, such as postgresql://."
        )

    async def aborrow(self, connection: Any) -> NoReturn:
        self.borrow(connection)

    # Upkeep

    def limit_connections(self, count: int) -> None:
        """There is but one."""

    def tidy(self) -> None:
        """The server sees to its files."""

    def position(self) -> None:
        """The server does not tell where it is: a rewind is not noticed."""

    def measure_time(self) -> None:
        if isinstance(self.clock, SystemClock):
            self.clock.measure(lambda: datetime.fromtimestamp(self._ask()["time"], UTC))

    def describe(self) -> list[tuple[str, str, str]]:
        begun = time.monotonic()
        self._ask()
        return [("ok", "socketdb", f"{self._where}, which answers in {(time.monotonic() - begun) * 1000:.1f} ms")]

    def close(self) -> None:
        self._connection.close()

    def _ask(self) -> dict[str, Any]:
        """An empty batch: its answer tells the time and the number of commits."""
        return self._connection.call({"name": self._name, "write": False, "batch": []}, again=True)


class PollingWatch:
    """Asks for the number of commits, again and again."""

    def __init__(self, database: SocketDatabase) -> None:
        self._database = database
        self._interrupted = threading.Event()
        self._seen = database.commits()

    def wait(self, timeout: float) -> bool:
        end = time.monotonic() + timeout
        while True:
            if self._has_changed():
                return True
            left = end - time.monotonic()
            if self._interrupted.wait(max(min(PACE, left), 0)):
                self._interrupted.clear()
                return True
            if left <= 0:
                return False

    def _has_changed(self) -> bool:
        try:
            before, self._seen = self._seen, self._database.commits()
        except StoreUnavailable:
            return False  # a hint may be missed; whoever needs the store hears of it
        return self._seen != before

    def interrupt(self) -> None:
        self._interrupted.set()

    def close(self) -> None:
        """It has no connection of its own."""
