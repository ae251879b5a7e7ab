"""Workbell on SQLite, as the harness of peers wants it."""

import sqlite3

from _workbell import CONFIG, define  # noqa: F401
from common import ROOT

STORE, PACKAGES = "sqlite", ["workbell", "msgspec"]
PATH = ROOT / "workbell.db"
define(f"sqlite:///{PATH}", globals())


def setup():
    for file in PATH.parent.glob(PATH.name + "*"):
        file.unlink()
    globals()["bell"].store.check()


def pending():
    with sqlite3.connect(f"file:{PATH}?mode=ro", uri=True) as connection:
        return connection.execute("SELECT count(*) FROM workbell_runs").fetchone()[0]
