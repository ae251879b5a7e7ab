"""Log lines of runs, in the store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC

import msgspec

from workbell.model.ids import FIRST_ID
from workbell.model.log_line import LogLine
from workbell.stores.database import Batch, Database, Row, Rows, Statement, read_rows, write_rows

LOG = LogLine.__struct_fields__  # run attempt line at level message
PAGE = 1000


Listed = list[LogLine]  # inside the class `list` is the verb


class Logs:
    """The log lines that handlers wrote. They are removed with their run."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, lines: Sequence[tuple[int, LogLine]]) -> int:
        """Store log lines, each with the token of the lease it was written under; how many were stored.

        Those of another lease than the run's last one are left out.
        """
        if not lines:
            return 0
        values = [(token, *msgspec.structs.astuple(line)) for token, line in lines]
        return len(write_rows(self._database, "add_logs", rows=Rows(("token", *LOG), values)))

    def list(self, run_id: str, *, after: tuple[int, int], limit: int) -> Listed:
        """The lines of a run beyond an attempt and line, oldest first."""
        position = {"after_attempt": after[0], "after_line": after[1]}
        return [_line(row) for row in read_rows(self._database, "logs", id=run_id, limit=limit, **position)]

    def export(self) -> Iterator[Sequence[LogLine]]:
        """All lines, in pages, by run, attempt and line."""
        after: tuple[str, int, int] = (FIRST_ID, -1, -1)
        names = ("after", "after_attempt", "after_line")
        while True:
            position = dict(zip(names, after, strict=True))
            page = [_line(row) for row in read_rows(self._database, "export_logs", limit=PAGE, **position)]
            if not page:
                return
            yield page
            after = (page[-1].run, page[-1].attempt, page[-1].line)

    def loading(self, lines: Sequence[LogLine]) -> Batch:
        """The statements that take over lines of another store."""
        return [Statement("load_log", msgspec.structs.asdict(line)) for line in lines]


def _line(row: Row) -> LogLine:
    return LogLine(row[0], row[1], row[2], row[3].astimezone(UTC), row[4], row[5])
