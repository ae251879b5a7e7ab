"""The database port: what an SQL engine supplies to the parts of a store.

A write is a value: a batch of named statements, executed in order, whole or not at all, with the answers afterwards. No
function of ours runs inside a transaction. So the same batch can be sent to a server in one go, or be executed on a
caller's own connection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from workbell.errors import StoreError
from workbell.model.clock import Clock

Row = Sequence[Any]


class Rows(NamedTuple):
    """Many rows as one parameter: a JSON text on SQLite, an array for each column on PostgreSQL."""

    columns: Sequence[str]
    values: Sequence[Sequence[Any]]


class Statement(NamedTuple):
    """A query of the SQL files by its name, with its parameters."""

    query: str
    values: Mapping[str, Any] = {}


Batch = Sequence[Statement]


class Conflict(StoreError):
    """A unique value of the batch is taken; nothing of the batch was written."""


class Database(Protocol):
    """One engine. A store's tables are checked, and made if there are none, before the first batch."""

    engine: str  # which SQL files and migrations it uses
    clock: Clock

    def read(self, batch: Batch) -> list[list[Row]]:
        """The answers to statements that only read, each by itself; sent again if the connection was lost."""

    def write(self, batch: Batch) -> list[list[Row]]:
        """The answers to a batch that is one transaction. Raises Conflict where a unique value is taken."""

    def wake(self) -> None:
        """Give the hint that something changed, to every process that watches."""


def read_rows(database: Database, query: str, **values: Any) -> list[Row]:
    """The answer to one query."""
    return database.read([Statement(query, values)])[0]


def write_rows(database: Database, query: str, **values: Any) -> list[Row]:
    """The answer to a batch of one statement."""
    return database.write([Statement(query, values)])[0]
