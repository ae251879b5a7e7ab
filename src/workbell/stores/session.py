"""Session: one connection for migrations and other queries outside of batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from workbell.stores.database import Row, Statement


class Session(ABC):
    """Queries on one connection of an engine, inside a transaction or not."""

    @abstractmethod
    def rows(self, query: str, /, **values: Any) -> list[Row]: ...

    @abstractmethod
    def execute(self, statement: Statement) -> list[Row]: ...

    @abstractmethod
    def text_rows(self, sql: str, values: dict[str, Any]) -> list[Row]:
        """The answer to SQL that is in no file."""
