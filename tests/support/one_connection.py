"""Finds units of work that take a second connection while they hold one.

Where a pool has few places, a few such units at once would wait for each other until their time is over. So in every
test, a thread that asks for a connection within a unit of work fails at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from workbell.stores.postgres.calls import Calls
from workbell.stores.postgres.connections import Connection

_thread = threading.local()


def refuse_second_connections() -> None:
    """For the rest of this process."""
    real = Calls._run

    def run(database: Calls, work: Callable[[Connection], Any], *given: Any) -> Any:
        holding = getattr(_thread, "holding", None)
        assert holding is None, f"{work} takes a connection within {holding}, which has one"
        try:
            return real(database, noted(work), *given)
        finally:
            _thread.holding = None

    Calls._run = run  # type: ignore[method-assign, assignment]


def noted(work: Callable[[Connection], Any]) -> Callable[[Connection], Any]:
    def hold(connection: Connection) -> Any:
        _thread.holding = work
        return work(connection)

    return hold
