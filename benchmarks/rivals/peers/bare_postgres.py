"""No job system: a table, NOTIFY after the commit, and one statement that takes what is queued. The least a run takes.

Nothing is leased, retried or finished. Only latency is measured with it.
"""

from __future__ import annotations

import select
from collections.abc import Iterable

import psycopg

from rivals import database
from rivals.hits import POSTGRES, hit

STORE, PACKAGES = "postgres", ["psycopg"]
CONFIG = "one table with one index, autocommit, statements prepared"
TAKE = """UPDATE bare SET status = 'running' WHERE id IN (
    SELECT id FROM bare WHERE status = 'queued' ORDER BY id LIMIT 10 FOR UPDATE SKIP LOCKED) RETURNING stamp"""
pending = database.Query("SELECT count(*) FROM bare WHERE status = 'queued'")


def _connect() -> psycopg.Connection:
    return psycopg.connect(POSTGRES, autocommit=True, prepare_threshold=1)


def setup() -> None:
    database.reset()
    with _connect() as connection:
        connection.execute("CREATE TABLE bare (id bigserial PRIMARY KEY, status text NOT NULL, stamp bigint NOT NULL)")
        connection.execute("CREATE INDEX bare_queued ON bare (id) WHERE status = 'queued'")


def enqueue(stamps: Iterable[int]) -> None:
    with _connect() as connection:
        for stamp in stamps:
            connection.execute("INSERT INTO bare (status, stamp) VALUES ('queued', %s)", (stamp,))
            connection.execute("SELECT pg_notify('bare', '')")


def worker() -> None:
    with _connect() as connection, _connect() as listener:
        listener.execute("LISTEN bare")
        poll = select.poll()
        poll.register(listener.fileno(), select.POLLIN)
        while True:
            for (stamp,) in connection.execute(TAKE).fetchall():
                hit(stamp)
            poll.poll()
            listener.pgconn.consume_input()
            while listener.pgconn.notifies():
                pass
