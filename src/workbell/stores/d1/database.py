"""The D1 database: batches of named statements, sent to a bridge Worker that executes them."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, NoReturn

from workbell.errors import WrongConnection
from workbell.model.clock import Clock, SystemClock
from workbell.stores.d1.batches import MOST_STATEMENTS, Sent, reading, writing
from workbell.stores.d1.bridge_calls import CONFLICT, BridgeCalls
from workbell.stores.d1.query_set import digest
from workbell.stores.d1.tables import D1Tables
from workbell.stores.database import Batch, Conflict, Row, Tables, conflict
from workbell.stores.sqlite.dialect import SQLITE, SqliteDialect


class D1Dialect(SqliteDialect):
    """SQLite's, in batches of few statements."""

    most_statements = MOST_STATEMENTS


D1 = D1Dialect()


class D1Database:
    """One database of Cloudflare, behind one bridge."""

    dialect = D1

    def __init__(self, calls: BridgeCalls, connections: int) -> None:
        self.clock: Clock = SystemClock()
        self.connections = connections
        self._calls = calls
        self._tables = D1Tables(self._read, self._write)
        self._is_ready = False

    # Batches

    def read(self, batch: Batch) -> list[list[Row]]:
        self.ready()
        return self._read(batch)

    def write(self, batch: Batch, *, first: bool = False, lock: float | None = None) -> list[list[Row]]:
        """D1 does one thing after the other: nothing is waited for here, so `first` and `lock` change nothing."""
        self.ready()
        return self._write(batch)

    def _read(self, batch: Batch) -> list[list[Row]]:
        answers: list[list[Row]] = [[] for _ in batch]
        for sent in reading(batch):
            answer = self._calls.read(_body(sent))
            if answer.get("code") == CONFLICT:
                raise _conflict(sent, answer)
            _fill(answers, sent, answer["answers"])
        return answers

    def _write(self, batch: Batch) -> list[list[Row]]:
        answers: list[list[Row]] = [[] for _ in batch]
        for sent in writing(batch):
            if not sent:
                continue
            answer = self._calls.write(_body(sent))
            if answer.get("code") == CONFLICT:
                raise _conflict(sent, answer)
            _fill(answers, sent, answer["answers"])
        return answers

    # Tables

    def ready(self, *, joining: bool = False) -> None:
        if not self._is_ready:
            self._tables.make_ready(self._calls.base)
            self._is_ready = True

    def tables(self) -> Tables | None:
        return self._tables.read()

    def migrate(self) -> list[str]:
        self._is_ready = False
        return self._tables.migrate()

    # Hints

    hints = False

    def watch(self) -> SilentWatch:
        return SilentWatch()

    def wake(self) -> None:
        """D1 sends no hints: workers poll, or have a queue beside it."""

    def wake_later(self) -> None:
        """The same."""

    # What it cannot do

    def borrow(self, connection: Any) -> NoReturn:
        raise WrongConnection(
            f"connection=: no connection of yours can be one to D1 ({self._calls.base}); leave connection= out, or use "
            "a store in your own database, such as postgresql://."
        )

    async def aborrow(self, connection: Any) -> NoReturn:
        self.borrow(connection)

    # Upkeep

    def limit_connections(self, count: int) -> None:
        """A Worker takes as many as come."""

    def tidy(self) -> None:
        """Cloudflare sees to the file."""

    def measure_time(self) -> None:
        if isinstance(self.clock, SystemClock):
            self.clock.measure(lambda: datetime.fromtimestamp(self._calls.health()["time"] / 1000, UTC))

    def position(self) -> None:
        """D1 does not tell where it is."""

    def describe(self) -> list[tuple[str, str, str]]:
        begun = time.monotonic()
        answer = self._calls.health()
        taken = (time.monotonic() - begun) * 1000
        found = (
            "ok",
            "D1",
            f"{self._calls.base}, a bridge of Workbell {answer['version']} that answers in {taken:.0f} ms",
        )
        if digest() not in answer["sets"]:
            found = (
                "risk",
                "D1",
                f"{self._calls.base} is a bridge of Workbell {answer['version']} without the queries of this one; "
                "run `workbell bridge write DIR` and deploy it.",
            )
        if not answer["search"]:
            off = 'the bridge takes no lists and searches of runs; set SEARCH to "on" in its wrangler.jsonc.'
            return [found, ("note", "D1", off)]
        return [found]

    def close(self) -> None:
        self._calls.close()


class SilentWatch:
    """A watch that never hints: who waits for it polls."""

    def __init__(self) -> None:
        self._interrupted = threading.Event()

    def wait(self, timeout: float) -> bool:
        if self._interrupted.wait(timeout):
            self._interrupted.clear()
            return True
        return False

    def interrupt(self) -> None:
        self._interrupted.set()

    def close(self) -> None:
        """It has nothing to let go of."""


def _body(sent: Sequence[Sent]) -> dict[str, Any]:
    return {"set": digest(), "batch": [each.wire for each in sent]}


def _fill(answers: list[list[Row]], sent: Sequence[Sent], answer: Sequence[list[Row]]) -> None:
    for each, rows in zip(sent, answer, strict=True):
        answers[each.position] += SQLITE.answer(each.query, each.columns, rows)


def _conflict(sent: Sequence[Sent], answer: dict[str, Any]) -> Conflict:
    guard_index = answer.get("at")
    if guard_index is None:
        return Conflict(f"A unique value is taken ({answer.get('message')}); repeat the call.")
    guard = sent[guard_index]
    return conflict(guard.query, answer["found"], guard.exactly or 0)
