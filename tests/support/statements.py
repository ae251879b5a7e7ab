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

    def watched(sound: Callable[..., list[Row]], name_of: Callable[[Any], str]) -> Callable[..., list[Row]]:
        def execute(connection: Any, bound: Any) -> list[Row]:
            found = sound(connection, bound)
            seen(name_of(bound), found)
            return found

        return execute

    patch(sqlite, "_execute", watched(sqlite._execute, lambda bound: bound.query))
    patch(postgres, "_execute", watched(postgres._execute, lambda bound: bound.statement.query))
