"""Workbell on PostgreSQL, as the harness of peers wants it."""

from _workbell import CONFIG, define  # noqa: F401
from common import PG_DSN, PgCounter, pg_reset

STORE, PACKAGES = "postgres", ["workbell", "msgspec", "psycopg"]
pending = PgCounter("SELECT count(*) FROM workbell_runs")
define(PG_DSN, globals())


def setup():
    pg_reset()
    globals()["bell"].store.check()
