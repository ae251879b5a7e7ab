"""One transaction, or one statement outside of any, as the shared verbs see it: queries by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from workbell.model.run import NewRun
from workbell.stores.database import Row, Statement


class Session(ABC):
    """What an engine supplies for running queries."""

    @abstractmethod
    def rows(self, query: str, /, **values: Any) -> list[Row]: ...

    @abstractmethod
    def finish(self, ending: dict[str, Any]) -> list[Row]:
        """Move runs into history: id, token, key and lane of those that moved."""

    @abstractmethod
    def execute(self, statement: Statement) -> list[Row]: ...

    @abstractmethod
    def insert(self, new: Sequence[NewRun]) -> None:
        """Plain runs, without keys."""

    @abstractmethod
    def insert_spelled(self, spelled: Any) -> None:
        """The same, spelled out before by the store's `spell_runs`."""

    @abstractmethod
    def text_rows(self, sql: str, values: dict[str, Any]) -> list[Row]:
        """A query that the filter builder made."""

    @abstractmethod
    def follow_indexes(self) -> None:
        """From now on, and as long as this session lasts: rows are found by indexes, in their order."""
