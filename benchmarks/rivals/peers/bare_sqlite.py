"""No job system: a table, a look at it every half a millisecond, and one statement that takes what is queued.

The least a run takes. Nothing is leased, retried or finished. Only latency is measured with it.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable

from rivals.hits import FOLDER, hit

STORE, PACKAGES = "sqlite", []
CONFIG = "one table with one index, WAL, synchronous=FULL, polls every 0.5 ms"
PATH = FOLDER / "bare.db"
POLL = 0.0005
TAKE = """UPDATE bare SET status = 'running' WHERE id IN (
    SELECT id FROM bare WHERE status = 'queued' ORDER BY id LIMIT 10) RETURNING stamp"""


def _connect() -> sqlite3.Connection:
    connection = sqlite3.connect(PATH, isolation_level=None, timeout=10)
    connection.execute("PRAGMA journal_mode = wal")
    connection.execute("PRAGMA synchronous = full")
    return connection


def setup() -> None:
    for file in PATH.parent.glob(PATH.name + "*"):
        file.unlink()
    connection = _connect()
    connection.execute("CREATE TABLE bare (id INTEGER PRIMARY KEY, status TEXT NOT NULL, stamp INTEGER NOT NULL)")
    connection.execute("CREATE INDEX bare_queued ON bare (id) WHERE status = 'queued'")
    connection.close()


def enqueue(stamps: Iterable[int]) -> None:
    connection = _connect()
    for stamp in stamps:
        connection.execute("INSERT INTO bare (status, stamp) VALUES ('queued', ?)", (stamp,))
    connection.close()


def worker() -> None:
    connection = _connect()
    while True:
        if connection.execute("SELECT 1 FROM bare WHERE status = 'queued' LIMIT 1").fetchone():
            for (stamp,) in connection.execute(TAKE).fetchall():
                hit(stamp)
        else:
            time.sleep(POLL)


def pending() -> int:
    connection = _connect()
    try:
        return int(connection.execute("SELECT count(*) FROM bare WHERE status = 'queued'").fetchone()[0])
    finally:
        connection.close()
