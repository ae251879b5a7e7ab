"""Fills a store with many runs by SQL, past its verbs: each row is a copy of one that the verbs made.

Only ids and times are new, so the columns need not be known here. Ids are of version 7 and in order, as real ones are:
rows made one after the other lie beside each other in every index.
"""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path
from typing import Any

import psycopg

WAITING_TIMES = ("scheduled_for", "created_at", "updated_at")
FINISHED_TIMES = (*WAITING_TIMES, "started_at", "finished_at")
KEEP = 7 * 86400  # seconds: the retention of succeeded runs


class Filler:
    """Writes copies of a waiting and of a finished run."""

    def __init__(self, url: str) -> None:
        self._is_sqlite = url.startswith("sqlite:///")
        self.connection: Any
        if self._is_sqlite:
            self.connection = sqlite3.connect(Path(url.removeprefix("sqlite:///")), isolation_level=None)
            self.connection.execute("PRAGMA synchronous = off")
            self.connection.execute("PRAGMA wal_autocheckpoint = 0")  # the store makes its own
        else:
            self.connection = psycopg.connect(url, autocommit=True)

    def add_waiting(self, count: int, *, seconds: float = 600) -> None:
        """Queued runs, made over the last `seconds`."""
        start = time.time() - seconds
        self._add("workbell_runs", "status = 'queued'", count, start, seconds, dict.fromkeys(WAITING_TIMES, 0))

    def add_finished(self, count: int, *, seconds: float = 6 * 86400) -> None:
        """Finished runs of the last `seconds`, not to be removed yet."""
        start = time.time() - seconds
        shifts = dict.fromkeys(FINISHED_TIMES, 0) | {"remove_at": KEEP}
        self._add("workbell_history", "status = 'succeeded'", count, start, seconds, shifts)

    def _add(self, table: str, model: str, count: int, start: float, seconds: float, shifts: dict[str, int]) -> None:
        """`shifts`: columns of time, and by how many seconds each is later than the run was made."""
        first, step = int(start * 1000), 1000 * seconds / count  # milliseconds
        rest = [name for name in self._columns(table) if name not in shifts and name != "id"]
        columns = ", ".join(["id", *shifts, *rest])
        copied = f"SELECT * FROM {table} WHERE {model} LIMIT 1"
        if self._is_sqlite:
            made = f"CAST({first} + n * {step} AS INTEGER)"
            made_id = (
                f"printf('%08x-%04x-7%03x-8%03x-%012x', {made} >> 16, {made} & 65535, n & 4095, "
                "random() & 4095, random() & 281474976710655)"
            )
            times = [f"({made} + {1000 * shift}) * 1000" for shift in shifts.values()]
            numbers = f"WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < {count})"
            source = f"(SELECT * FROM ({copied})) AS model CROSS JOIN number"
        else:
            made = f"CAST({first} + n * {step} AS bigint)"
            made_id = (
                f"CAST(lpad(to_hex({made}), 12, '0') || '7' || lpad(to_hex(n & 4095), 3, '0') "
                "|| substr(CAST(gen_random_uuid() AS text), 20) AS uuid)"
            )
            times = [f"to_timestamp({made} / 1000.0 + {shift})" for shift in shifts.values()]
            numbers = ""
            source = f"({copied}) AS model CROSS JOIN generate_series(1, {count}) AS number(n)"
        values = ", ".join([made_id, *times, *(f"model.{name}" for name in rest)])
        self.connection.execute(f"{numbers} INSERT INTO {table} ({columns}) SELECT {values} FROM {source}")

    def _columns(self, table: str) -> list[str]:
        if self._is_sqlite:
            return [row[1] for row in self.connection.execute(f"PRAGMA table_info({table})")]
        return [column.name for column in self.connection.execute(f"SELECT * FROM {table} LIMIT 0").description]

    def settle(self) -> None:
        """Statistics for the planner; no dead rows, and nothing left that the next reader would have to write."""
        if self._is_sqlite:
            self.connection.execute("ANALYZE")
            self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        else:
            self.connection.execute("VACUUM (ANALYZE) workbell_runs")
            self.connection.execute("VACUUM (ANALYZE) workbell_history")
            self.connection.execute("CHECKPOINT")
        os.sync()  # else the disk is still busy with the fill, and every commit waits for that

    def close(self) -> None:
        self.connection.close()
