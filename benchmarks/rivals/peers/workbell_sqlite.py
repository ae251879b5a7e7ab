"""Workbell on SQLite."""

from __future__ import annotations

import sqlite3
import time
from functools import partial
from typing import Any

from rivals.hits import FOLDER

from ._workbell import CONFIG, LOST, define  # noqa: F401
from ._workbell import supervise as supervise_app

STORE, PACKAGES = "sqlite", ["workbell", "msgspec"]
PATH = FOLDER / "workbell.db"
supervise = partial(supervise_app, __name__)
globals().update(define(f"sqlite:///{PATH}"))


def setup() -> None:
    for file in PATH.parent.glob(PATH.name + "*"):
        file.unlink()
    globals()["bell"].store.check()


def _read(sql: str) -> Any:
    connection = sqlite3.connect(f"file:{PATH}?mode=ro", uri=True)
    try:
        return connection.execute(sql).fetchone()[0]
    finally:
        connection.close()


def pending() -> int:
    return int(_read("SELECT count(*) FROM workbell_runs"))


def leases() -> tuple[float | None, int]:
    until = _read("SELECT min(lease_until) FROM workbell_runs WHERE status = 'running'")  # microseconds
    return None if until is None else until / 1e6 - time.time(), int(_read(LOST))
