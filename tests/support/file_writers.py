"""Processes that write to one SQLite file in different ways, until they are told to stop by a file.

`stores` and `callers` enqueue through Workbell, the second inside transactions of their own; `checkpoints` does
nothing but checkpoints; `holder` takes the turn at writing and keeps it; `stubborn` goes on enqueuing when it is
refused. What was acknowledged is recorded, and what was refused.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import sys
import time
from pathlib import Path

from workbell import StoreUnavailable, Workbell
from workbell.stores.sqlite.store import SqliteStore

from .recorder import Recorder
from .worker_app import declare, die_with_parent


def stores(bell: Workbell, recorder: Recorder, end: Path) -> None:
    while not end.exists():
        recorder.acknowledged([bell.enqueue("quick_async")])


def stubborn(bell: Workbell, recorder: Recorder, end: Path) -> None:
    """As a web process that answers each request with an error, and takes the next."""
    while not end.exists():
        begun = time.monotonic()
        try:
            run = bell.enqueue("quick_async")
        except StoreUnavailable as error:
            recorder.note("refused", text=str(error))
            time.sleep(0.02)
        else:
            recorder.note("acknowledged", runs=[run.id], tenant="default", begun=begun)


def callers(bell: Workbell, recorder: Recorder, end: Path) -> None:
    """As an application does it: its own row and the run, or neither."""
    connection = sqlite3.connect(_file(bell).path, timeout=60)
    number = 0
    while not end.exists():
        number += 1
        connection.execute("INSERT INTO orders VALUES (?, ?)", (os.getpid(), number))
        run = bell.enqueue("quick_async", connection=connection)
        if number % 5:
            connection.commit()
            recorder.acknowledged([run])
            recorder.note("ordered", number=number, runs=[run.id])
        else:
            connection.rollback()
            recorder.note("withdrawn", number=number, runs=[run.id])
    # Auto-checkpoint is off on a connection we have touched, and it stays so.
    recorder.note("autocheckpoint", pages=connection.execute("PRAGMA wal_autocheckpoint").fetchone()[0])
    connection.close()


def checkpoints(bell: Workbell, recorder: Recorder, end: Path) -> None:
    made = 0
    while not end.exists():
        bell.store.tidy()
        made += 1
    recorder.note("checkpoints", count=made)


def holder(bell: Workbell, recorder: Recorder, _end: Path) -> None:
    """In the middle of a write transaction, for ever."""

    def stay(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO orders VALUES (0, 0)")
        recorder.note("holds")
        while True:
            time.sleep(60)

    _file(bell).write(stay)


def _file(bell: Workbell):
    assert isinstance(bell.store, SqliteStore)
    return bell.store.file


ROLES = {"stores": stores, "callers": callers, "checkpoints": checkpoints, "holder": holder, "stubborn": stubborn}


def main(role: str) -> None:
    die_with_parent()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(process)d %(message)s")
    recorder = Recorder(Path(os.environ["RECORDING"]))
    gates = Path(os.environ["GATES"])
    bell = Workbell()
    declare(bell, recorder, gates)
    bell.store.check()
    recorder.note("ready")
    while not (gates / "begin").exists():
        time.sleep(0.001)
    ROLES[role](bell, recorder, gates / "end")
    bell.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
