"""One transaction, or one statement outside of any, as the shared verbs see it: queries by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from workbell.stores.database import Row, Statement


class Session(ABC):
    """What an engine supplies for running queries."""

    @abstractmethod
    def rows(self, query: str, /, **values: Any) -> list[Row]: ...

    @abstractmethod
    def execute(self, statement: Statement) -> list[Row]: ...

    @abstractmethod
    def text_rows(self, sql: str, values: dict[str, Any]) -> list[Row]:
        """A query that the filter builder made."""
