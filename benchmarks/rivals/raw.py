"""Runs inserted without Workbell: the store's own SQL on a bare connection, with no engine, locks or checks.

It is the ceiling of the rest. SQLite makes its checkpoints as it does by default, which is safe only because nobody
else writes meanwhile.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

from workbell.model.run import NewRun
from workbell.stores.rows import NEW, new_values


def insert_sqlite(path: Path, new: Sequence[NewRun], batch: int) -> float:
    """Insert runs, this many a commit, after a first page that prepares; how long the rest took."""
    from workbell.stores.sqlite.dialect import bind_runs

    connection = sqlite3.connect(path, timeout=30, isolation_level=None, cached_statements=64)
    for pragma in ("journal_mode = wal", "synchronous = full"):
        connection.execute(f"PRAGMA {pragma}")
    sql, rows = bind_runs([new_values(request) for request in new])[1:3]
    began = time.perf_counter()
    for start in range(0, len(rows), batch):
        if start == batch:
            began = time.perf_counter()
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(sql, rows[start : start + batch])
        connection.execute("COMMIT")
    took = time.perf_counter() - began
    connection.close()
    return took


def insert_postgres(url: str, new: Sequence[NewRun], batch: int) -> float:
    """The same by COPY, or row by row if each has a commit of its own."""
    import psycopg

    from workbell.stores.postgres.copy_text import copy_rows
    from workbell.stores.postgres.dialect import QUERIES

    values = [new_values(request) for request in new]
    with psycopg.connect(url, autocommit=True, prepare_threshold=2) as connection:
        if batch == 1:
            single = [dict(zip(NEW, row, strict=True)) for row in values]
            connection.execute(QUERIES["add_run"], single[0])
            began = time.perf_counter()
            for row in single[1:]:
                connection.execute(QUERIES["add_run"], row)
            return time.perf_counter() - began
        pages = [copy_rows(values[start : start + batch]) for start in range(0, len(values), batch)]
        began = time.perf_counter()
        for number, (columns, lines) in enumerate(pages):
            if number == 1:
                began = time.perf_counter()
            with connection.cursor().copy(f"COPY workbell_runs ({', '.join(columns)}) FROM STDIN") as copy:
                copy.write(lines)
        return time.perf_counter() - began
