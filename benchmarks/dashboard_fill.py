"""Writes the rows of `dashboard_load.py` into a store, past its verbs: a million of them in seconds."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import psycopg
from dashboard_load import CROWD, WORKERS, Load

from workbell.model.worker import Worker
from workbell.stores.access.audit import AUDIT
from workbell.stores.event_rows import EVENT, MATCH
from workbell.stores.logs.logs import LOG
from workbell.stores.port import Store
from workbell.stores.rows import HISTORY, LIVE, TICK, TIMES
from workbell.stores.store_page import StorePage
from workbell.stores.tallies.tallies import TALLY

ATTEMPT = "run number status started_at finished_at worker error".split()
TIMED = frozenset({*TIMES, "time", "minute"})

Rows = Iterable[Sequence[Any]]


class Writer:
    """Writes rows, whose times are seconds since 1970, into the tables of one store."""

    def __init__(self, url: str) -> None:
        self._sqlite = url.startswith("sqlite:///")
        self._connection: Any
        if self._sqlite:
            self._connection = sqlite3.connect(Path(url.removeprefix("sqlite:///")), isolation_level=None)
            self._connection.execute("PRAGMA synchronous = off")
        else:
            self._connection = psycopg.connect(url, autocommit=True)

    def write(self, table: str, columns: Sequence[str], rows: Rows) -> None:
        times = [place for place, name in enumerate(columns) if name in TIMED]
        names = ", ".join(columns)
        if self._sqlite:
            self._connection.execute("BEGIN")
            spelled = (_with_micros(row, times) for row in rows)
            marks = ", ".join("?" * len(columns))
            self._connection.executemany(f"INSERT INTO {table} ({names}) VALUES ({marks})", spelled)
            self._connection.execute("COMMIT")
            return
        with self._connection.cursor().copy(f"COPY {table} ({names}) FROM STDIN") as copy:
            lines = ("\t".join(_as_text(row, times)) + "\n" for row in rows)
            while part := "".join(islice(lines, 2000)):
                copy.write(part)

    def close(self) -> None:
        self._connection.close()


def _with_micros(row: Sequence[Any], times: Sequence[int]) -> list[Any]:
    spelled = list(row)
    for place in times:
        if spelled[place] is not None:
            spelled[place] = int(spelled[place] * 1_000_000)
    return spelled


def _as_text(row: Sequence[Any], times: Sequence[int]) -> list[str]:
    spelled = ["\\N" if value is None else str(value).replace("\\", "\\\\") for value in row]
    for place in times:
        if row[place] is not None:
            spelled[place] = datetime.fromtimestamp(row[place], UTC).isoformat()
    return spelled


def fill(load: Load, store: Store, url: str) -> None:
    """A fortnight of one tenant."""
    store.check()
    store.load(load.definitions())
    for worker in _workers(load):
        store.put_worker(worker)
    writer = Writer(url)
    writer.write("workbell_history", HISTORY, load.history())
    writer.write("workbell_runs", LIVE, load.live())
    writer.write("workbell_attempts", ATTEMPT, load.attempts())
    writer.write("workbell_logs", LOG, load.logs())
    writer.write("workbell_events", EVENT, load.told())
    writer.write("workbell_matches", MATCH, load.matches())
    writer.write("workbell_ticks", TICK, load.ticks())
    writer.write("workbell_audit", AUDIT, load.audit())
    writer.write("workbell_tallies", TALLY, load.added_up())
    writer.close()
    store.tidy()
    load.tallies.clear()


def _workers(load: Load) -> Iterable[Worker]:
    now = datetime.fromtimestamp(load.now, UTC)
    for place, name in enumerate(load.workers):
        yield Worker(
            id=name,
            host=f"host{place}",
            pid=1000 + place,
            incarnation=f"{place:08x}",
            version="1",
            queues=None,
            jobs=(*load.lanes, CROWD),
            concurrency=WORKERS,
            started_at=now,
            seen_at=now + timedelta(hours=12),
        )


def fill_beside(load: Load, store: Store, url: str) -> None:
    """Another tenant that has done little, and a job with a lane for each of many keys."""
    lanes, finished, waiting = load.beside()
    store.load(StorePage(lanes=lanes))
    writer = Writer(url)
    writer.write("workbell_history", HISTORY, finished)
    writer.write("workbell_runs", LIVE, waiting)
    writer.write("workbell_tallies", TALLY, load.added_up())
    writer.close()
    store.tidy()
