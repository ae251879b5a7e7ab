"""Statements as a store executes them: a look behind each of them, in the middle of its transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from workbell.stores.database import Row
from workbell.stores.postgres import database as postgres
from workbell.stores.sqlite import database as sqlite


def watch_statements(
    seen: Callable[[str, Sequence[Row]], None], patch: Callable[[Any, str, Any], None] = setattr
) -> None:
    """Call `seen` after each statement of SQLite and PostgreSQL, before the commit, with its name and its answer.

    What it raises ends the transaction. `patch` is that of pytest, if it is to be undone.
    """

    of_batch, of_one = sqlite._execute, postgres._execute

    def execute_batch(batch: Sequence[Any], connection: Any) -> list[list[Row]]:
        answers: list[list[Row]] = []
        for bound in batch:
            answers += of_batch([bound], connection)
            seen(bound.query, answers[-1])
        return answers

    def execute_one(connection: Any, bound: Any) -> list[Row]:
        found = of_one(connection, bound)
        seen(bound.statement.query, found)
        return found

    patch(sqlite, "_execute", execute_batch)
    patch(postgres, "_execute", execute_one)
