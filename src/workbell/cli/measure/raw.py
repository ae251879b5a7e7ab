"""The same work without Workbell: the store's own SQL on a bare connection, with no engine, locks or checks.

It is the ceiling that the rest is compared with, not a way to work: nothing renews a lease, and SQLite makes its
checkpoints as it does by default, which is safe only because nobody else writes meanwhile.
"""

from __future__ import annotations

import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from workbell.cli.measure.scene import LANE
from workbell.cli.measure.tally import WorkerNumbers
from workbell.cli.project import opened
from workbell.cli.schema import OURS, scheme_of
from workbell.errors import InvalidOption
from workbell.model.ids import MOST_TOKEN
from workbell.model.run import NewRun, Status
from workbell.model.state import MOVES, Move
from workbell.settings import safe_url
from workbell.stores.rows import NEW, STARTED, new_values, to_micros

BATCH = 1000
LEASE = timedelta(seconds=30)
ID = STARTED.index("id")
START = MOVES[Move.START]


class Raw(ABC):
    """A bare connection."""

    @abstractmethod
    def insert(self, new: Sequence[NewRun], batch: int) -> float:
        """Insert runs, this many a commit; how long it took. What is inserted is made ready before."""

    @abstractmethod
    def claim(self, now: datetime) -> list[Any]: ...

    @abstractmethod
    def finish(self, rows: list[Any], now: datetime) -> None: ...

    @abstractmethod
    def close(self) -> None: ...

    def drain(self, tally: WorkerNumbers) -> None:
        """Claim a batch, count it as done, finish it, until nothing is queued."""
        while rows := self.claim(datetime.now(UTC)):
            for _ in rows:
                tally.hit(0)
            self.finish(rows, datetime.now(UTC))
        self.close()


class RawSqlite(Raw):
    def __init__(self, path: str) -> None:
        self._connection = sqlite3.connect(path, timeout=30, isolation_level=None, cached_statements=64)
        for pragma in ("journal_mode = wal", "synchronous = full"):
            self._connection.execute(f"PRAGMA {pragma}")

    def insert(self, new: Sequence[NewRun], batch: int) -> float:
        from workbell.stores.sqlite.dialect import bind_runs

        sql, rows = bind_runs([new_values(request) for request in new])[1:3]
        connection = self._connection
        began = time.perf_counter()
        for page in _pages(rows, batch):
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(sql, page)
            connection.execute("COMMIT")
        return time.perf_counter() - began

    def claim(self, now: datetime) -> list[Any]:
        from workbell.stores.sqlite.dialect import QUERIES

        values = {"lane": LANE.id, "rank": 0, "quota": BATCH, "worker": "raw", "now": to_micros(now)}
        values |= {"lease_until": to_micros(now + LEASE), "token": MOST_TOKEN}
        values |= {"from_status": START.sources[0].value, "to_status": START.targets[0].value}
        return self._connection.execute(QUERIES["claim"], values).fetchall()

    def finish(self, rows: list[Any], now: datetime) -> None:
        from workbell.stores.sqlite.dialect import QUERIES

        ended = to_micros(now)
        listed = [
            [row[ID], "running", MOST_TOKEN, "succeeded", 0, 0, 0, ended, None, None, ended, None, ended]
            for row in rows
        ]
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.execute(QUERIES["finish"], {"rows": _json(listed)}).fetchall()
        self._connection.execute(QUERIES["remove_live"], {"ids": _json([row[ID] for row in rows])})
        self._connection.execute("COMMIT")

    def close(self) -> None:
        self._connection.close()


class RawPostgres(Raw):
    def __init__(self, url: str) -> None:
        import psycopg
        from psycopg.types.string import TextLoader

        self._connection = psycopg.connect(url, autocommit=True, prepare_threshold=2)
        self._connection.adapters.register_loader("uuid", TextLoader)

    def insert(self, new: Sequence[NewRun], batch: int) -> float:
        from workbell.stores.postgres.copy_text import copy_rows
        from workbell.stores.postgres.dialect import QUERIES

        connection = self._connection
        if batch == 1:
            values = [dict(zip(NEW, new_values(request), strict=True)) for request in new]
            began = time.perf_counter()
            for row in values:
                connection.execute(QUERIES["add_run"], row)
            return time.perf_counter() - began
        pages = [copy_rows([new_values(request) for request in page]) for page in _pages(new, batch)]
        began = time.perf_counter()
        for columns, lines in pages:
            with connection.cursor().copy(f"COPY workbell_runs ({', '.join(columns)}) FROM STDIN") as copy:
                copy.write(lines)
        return time.perf_counter() - began

    def claim(self, now: datetime) -> list[Any]:
        from workbell.stores.postgres.dialect import QUERIES

        values: dict[str, Any] = {"worker": "raw", "now": now, "lease_until": now + LEASE, "limit": BATCH}
        values |= {"lane": [LANE.id], "rank": [0], "quota": [BATCH], "since": ["-infinity"], "token": MOST_TOKEN}
        values |= {"from_status": START.sources[0].value, "to_status": START.targets[0].value}
        return self._connection.execute(QUERIES["claim"], values).fetchall()

    def finish(self, rows: list[Any], now: datetime) -> None:
        from workbell.stores.postgres.arrays import array_text
        from workbell.stores.postgres.dialect import QUERIES

        size = len(rows)
        lists: dict[str, list[Any]] = {"run_id": [row[ID] for row in rows]}
        lists |= {"expected_token": [MOST_TOKEN] * size}
        lists |= {"expected": [Status.RUNNING.value] * size, "status": [Status.SUCCEEDED.value] * size}
        lists |= {name: [0] * size for name in ("failures", "losses", "crashes")}
        lists |= {name: [now] * size for name in ("started_at", "finished_at", "remove_at")}
        lists |= {name: [None] * size for name in ("error", "reason", "result_text")}
        self._connection.execute(QUERIES["finish"], {name: array_text(values) for name, values in lists.items()})

    def close(self) -> None:
        self._connection.close()


def open_raw(url: str) -> Raw:
    """A bare connection to the store of a URL; raises where there is no raw SQL to compare with."""
    if OURS.get(scheme_of(url)) == "postgres":
        return RawPostgres(url)
    from workbell.stores.sqlite.store import SqliteStore

    with opened(url) as store:
        if not isinstance(store, SqliteStore):
            raise InvalidOption(f"--raw: {safe_url(url)} is neither a SQLite file nor PostgreSQL; leave it out.")
        return RawSqlite(str(store.file.path))


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _pages(items: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
