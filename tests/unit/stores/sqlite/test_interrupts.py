"""Ctrl-C anywhere in a write or a read of the SQLite file: no lock is kept, nothing is torn, the next write works."""

from __future__ import annotations

import gc
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.interrupts import every_point
from workbell.stores import turns
from workbell.stores.sqlite import file as module
from workbell.stores.sqlite import locks
from workbell.stores.sqlite.file import SqliteFile
from workbell.stores.sqlite.locks import FileLock


@pytest.fixture
def file(tmp_path: Path) -> Iterator[SqliteFile]:
    file = SqliteFile(tmp_path / "workbell.db")
    file.write(lambda connection: connection.execute("CREATE TABLE t (n INTEGER PRIMARY KEY)"))
    yield file
    file.close()


def in_thread(work: Callable[[], object]) -> bool:
    """Whether a call ends within a few seconds, in a thread of its own."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(5)
    return not thread.is_alive()


def other_process_can_write(file: SqliteFile, number: int) -> None:
    """By locks as another process would meet them: another open file, and another connection."""
    with FileLock(file.path.with_name(file.path.name + "-lock")) as lock:
        lock.acquire(5)
        with closing(sqlite3.connect(file.path, timeout=1)) as connection, connection:
            connection.execute("INSERT INTO t VALUES (?)", (number,))
        lock.release()


@pytest.mark.parametrize("tidy", [False, True], ids=["write", "write and checkpoint"])
def test_a_write_may_be_interrupted_anywhere(file: SqliteFile, tidy: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if tidy:
        monkeypatch.setattr(module, "CHECKPOINT_COMMITS", 1)
    number = 0
    for interrupt in every_point(module, locks, turns):
        number += 10

        def work(connection: sqlite3.Connection, number: int = number) -> str:
            connection.execute("INSERT INTO t VALUES (?)", (number,))
            connection.execute("INSERT INTO t VALUES (?)", (number + 1,))
            return "done"

        try:
            assert interrupt.call(lambda work=work: file.write(work)) == "done"  # type: ignore[misc]
        except KeyboardInterrupt:
            assert interrupt.where
        else:
            assert interrupt.where is None, f"swallowed at {interrupt.where}"
        other_process_can_write(file, number + 2)
        insert = f"INSERT INTO t VALUES ({number + 3})"
        assert in_thread(lambda insert=insert: file.write(lambda c: c.execute(insert))), interrupt.where  # type: ignore[misc]
        with file.reader() as connection:
            found = [row[0] - number for row in connection.execute("SELECT n FROM t WHERE n >= ?", (number,))]
        assert found in ([2, 3], [0, 1, 2, 3]), interrupt.where


def test_a_read_may_be_interrupted_anywhere(file: SqliteFile) -> None:
    """A reader that is counted for ever would keep the file from being closed before a fork."""

    def work() -> int:
        with file.reader() as connection:
            count: int = connection.execute("SELECT count(*) FROM t").fetchone()[0]
            return count

    for interrupt in every_point(module):
        try:
            assert interrupt.call(work) == 0
        except KeyboardInterrupt:
            assert interrupt.where
        else:
            assert interrupt.where is None, f"swallowed at {interrupt.where}"
        gc.collect()  # a connection that was just being lent is closed with the frames that the interrupt leaves
        assert file._close_if_quiet(), interrupt.where
        assert in_thread(work), interrupt.where
