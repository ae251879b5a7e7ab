"""The verbs about log lines that every SQL store has alike."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from workbell.model.log_line import LogLine
from workbell.stores import rows
from workbell.stores.session import Session

T = TypeVar("T")


class SqlLogs(ABC):
    """Log lines of runs over a `Session`."""

    @abstractmethod
    def read(self, work: Callable[[Session], T]) -> T: ...

    @abstractmethod
    def write(self, work: Callable[[Session], T]) -> T: ...

    @abstractmethod
    def spell(self, columns: Sequence[str], values: Sequence[Sequence[Any]]) -> dict[str, Any]: ...

    def add_logs(self, lines: Sequence[tuple[int, LogLine]]) -> int:
        if not lines:
            return 0
        spelled = self.spell(("token", *rows.LOG), [(token, *rows.log_values(line)) for token, line in lines])
        return len(self.write(lambda session: session.rows("add_logs", **spelled)))

    def list_logs(self, run_id: str, *, after: tuple[int, int], limit: int) -> list[LogLine]:
        values: dict[str, Any] = {"id": run_id, "after_attempt": after[0], "after_line": after[1], "limit": limit}
        return self.read(lambda session: [rows.log_from(row) for row in session.rows("logs", **values)])
