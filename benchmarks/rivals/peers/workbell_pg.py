"""Workbell on PostgreSQL."""

from __future__ import annotations

from functools import partial

from rivals import database
from rivals.hits import POSTGRES

from ._workbell import CONFIG, LOST, define  # noqa: F401
from ._workbell import supervise as supervise_app

STORE, PACKAGES = "postgres", ["workbell", "msgspec", "psycopg"]
pending = database.Query("SELECT count(*) FROM workbell_runs")
_lost = database.Query(LOST)
_lease = database.Query(
    "SELECT extract(epoch FROM min(lease_until) - clock_timestamp())::float FROM workbell_runs WHERE status = 'running'"
)
supervise = partial(supervise_app, __name__)
globals().update(define(POSTGRES))


def setup() -> None:
    database.reset()
    globals()["bell"].store.check()


def leases() -> tuple[float | None, int]:
    return _lease(), int(_lost())
