"""The rules of the SQLite file: shared fairly and safely by processes, threads and callers; checkpoints kept apart."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections import Counter
from pathlib import Path

import pytest

from tests.support.checker import check, report
from tests.support.processes import Site, freeze, kill
from tests.support.waiting import until
from workbell import StoreError, StoreUnavailable, Workbell
from workbell.process.platform import platform
from workbell.stores.sqlite import file as file_module
from workbell.stores.sqlite.file import SqliteFile
from workbell.stores.sqlite.store import SqliteStore

SOAK = os.environ.get("WORKBELL_SOAK") == "1"
COMMITS = 20_000 if SOAK else 600  # together, by all writers
WRITERS = 3


def file_of(bell: Workbell) -> SqliteFile:
    assert isinstance(bell.store, SqliteStore)
    return bell.store.file


def table(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE orders (process INTEGER, number INTEGER)")
    connection.close()


def rows(path: Path, query: str) -> list[tuple]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


class TestManyWriters:
    def test_share_fairly_and_safely(self, tmp_path: Path, path: Path, bell: Workbell, sqlite_url: str) -> None:
        """Three processes, a caller with its own transactions, and checkpoints all the while."""
        table(path)
        with Site(tmp_path, sqlite_url) as site:
            writers = [site.start("stores", program="file_writers") for _ in range(WRITERS)]
            others = [site.start(role, program="file_writers") for role in ("callers", "checkpoints")]
            site.await_ready(*writers, *others)
            site.open_gate("begin")
            until(lambda: sum(shares(site)[writer.pid] for writer in writers) >= COMMITS, f"{COMMITS} commits", 100)
            site.await_event("ordered")
            mine = [shares(site)[writer.pid] for writer in writers]
            site.open_gate("end")
            assert [process.wait(60) for process in writers + others] == [0] * 5, site.logged()

            events = site.events()
            violations = check(bell.store, events, settled=False)
            assert not violations, report(violations)
            assert min(mine) * WRITERS * 5 >= sum(mine), f"shares of the writers: {mine}"
            assert rows(path, "PRAGMA integrity_check") == [("ok",)]
            assert {event["pages"] for event in events if event["kind"] == "autocheckpoint"} == {0}
            assert sum(event["count"] for event in events if event["kind"] == "checkpoints") > 10
            # The caller's own rows and its runs stand and fall together (F4).
            ordered = {event["number"]: event["runs"][0] for event in events if event["kind"] == "ordered"}
            assert {number for (number,) in rows(path, "SELECT number FROM orders")} == set(ordered)
            withdrawn = [event["runs"][0] for event in events if event["kind"] == "withdrawn"]
            assert bell.store.runs.find(withdrawn) == {}

    def test_opened_for_the_first_time_by_many(self, tmp_path: Path, path: Path, empty_sqlite_url: str) -> None:
        """The file and its tables are made once, whoever comes first."""
        with Site(tmp_path, empty_sqlite_url) as site:
            site.open_gate("begin")
            site.open_gate("end")
            processes = [site.start("stores", program="file_writers") for _ in range(4)]
            assert [process.wait(60) for process in processes] == [0] * 4, site.logged()
        assert len(rows(path, "SELECT value FROM workbell_meta WHERE name = 'store_id'")) == 1


def shares(site: Site) -> Counter[int]:
    """Acknowledged commits by process."""
    return Counter(event["pid"] for event in site.events() if event["kind"] == "acknowledged")


class TestCheckpoints:
    def test_automatic_ones_are_off(self, path: Path, bell: Workbell) -> None:
        """On every connection of ours, and on a caller's that we have touched."""
        bell.enqueue("work")
        file = file_of(bell)
        caller = sqlite3.connect(path)
        assert caller.execute("PRAGMA wal_autocheckpoint").fetchone() == (1000,)
        bell.enqueue("work", connection=caller)
        caller.commit()
        with file.reader() as reader:
            for connection in (file.writer, file._checkpointer, reader, file.connect(), caller):
                assert connection.execute("PRAGMA wal_autocheckpoint").fetchone() == (0,)
        caller.close()

    @pytest.mark.parametrize("start", ["checkpoint", "tidy", "by itself"])
    def test_no_commit_overlaps_one(self, path: Path, bell: Workbell, monkeypatch, start: str) -> None:
        """While the pragma runs, nobody else can begin to write."""
        file = file_of(bell)
        bell.enqueue("work")
        stranger = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
        refusals: list[str] = []

        class Spy:
            def execute(self, statement: str) -> sqlite3.Cursor:
                assert "wal_checkpoint" in statement
                with pytest.raises(sqlite3.OperationalError) as caught:
                    stranger.execute("BEGIN IMMEDIATE")
                refusals.append(str(caught.value))
                return sound.execute(statement)

        sound = file._checkpointer
        monkeypatch.setattr(file, "_checkpointer", Spy())
        if start == "by itself":
            monkeypatch.setattr(file_module, "CHECKPOINT_COMMITS", 1)
            bell.enqueue("work")
        else:
            {"checkpoint": file.checkpoint, "tidy": bell.store.tidy}[start]()
        assert refusals == ["database is locked"]
        stranger.execute("BEGIN IMMEDIATE")  # and afterwards anybody can
        stranger.close()
        monkeypatch.setattr(file, "_checkpointer", sound)

    def test_log_does_not_grow_without_bound(self, path: Path, bell: Workbell) -> None:
        """Under steady writes, with nobody calling `tidy`: a multiple of the writes is no multiple of the log."""
        log = path.with_name(path.name + "-wal")

        def write(count: int) -> int:
            largest = 0
            for number in range(count):
                bell.enqueue_many([("work", {"number": number})] * 400)
                largest = max(largest, log.stat().st_size)
            return largest

        first = write(15)  # beyond the first checkpoint
        assert write(40) <= 2 * first

    def test_one_that_cannot_be_made_does_not_undo_a_commit(self, path: Path, bell: Workbell, monkeypatch) -> None:
        """The run was committed; that the lock was taken before the checkpoint is no reason to say it was not."""
        file = file_of(bell)
        bell.enqueue("work")
        monkeypatch.setattr(file_module, "CHECKPOINT_COMMITS", 1)

        def busy() -> None:
            raise sqlite3.OperationalError("database is locked")

        monkeypatch.setattr(file, "_checkpoint", busy)
        run = bell.enqueue("work")
        assert bell.get(run.id) == run

    def test_one_that_was_asked_for_and_fails_is_heard_of(self, bell: Workbell, monkeypatch) -> None:
        """Else a log that grows, because the disk is full, would grow in silence."""
        file = file_of(bell)
        bell.enqueue("work")

        def fail() -> None:
            raise sqlite3.OperationalError("disk I/O error")

        with monkeypatch.context() as broken:
            broken.setattr(file, "_checkpoint", fail)
            with pytest.raises(StoreError, match="disk I/O error"):
                bell.store.tidy()
        bell.store.tidy()


class TestLocks:
    def test_killed_while_it_holds_the_lock(self, tmp_path: Path, path: Path, bell: Workbell, sqlite_url: str) -> None:
        """kill -9 in the middle of a transaction frees both locks, and nothing of it is left."""
        table(path)
        with Site(tmp_path, sqlite_url) as site:
            site.open_gate("begin")
            holder = site.start("holder", program="file_writers")
            site.await_event("holds")
            kill(holder)
            run = bell.enqueue("work")
        assert bell.get(run.id) == run
        assert rows(path, "SELECT * FROM orders") == []

    def test_held_by_another_process_beyond_the_deadline(
        self, tmp_path: Path, path: Path, bell: Workbell, sqlite_url: str, monkeypatch
    ) -> None:
        """A stopped process: the others are told what to do, and go on when it is gone."""
        holder_of = "process" if platform().flock else "connection"  # SQLite's own lock does not tell the two apart
        refused = rf"another {holder_of} held the write lock .*workbell doctor"
        table(path)
        before = bell.enqueue("work")
        monkeypatch.setattr(file_module, "DEADLINE", 0.3)
        with Site(tmp_path, sqlite_url) as site:
            site.open_gate("begin")
            holder = site.start("holder", program="file_writers")
            site.await_event("holds")
            freeze(holder)
            for _ in range(2):
                with pytest.raises(StoreUnavailable, match=refused):
                    bell.enqueue("work")
            assert bell.get(before.id) == before  # reading goes on
            kill(holder)
            after = bell.enqueue("work")
        assert {run.id for run in bell.runs()} == {before.id, after.id}
        assert rows(path, "PRAGMA integrity_check") == [("ok",)]

    def test_held_by_a_caller_beyond_the_deadline(self, path: Path, sqlite_url: str, monkeypatch) -> None:
        """A caller's own transaction that does not end."""
        monkeypatch.setattr(file_module, "DEADLINE", 0.3)
        with Workbell(sqlite_url) as bell:

            @bell.job
            def work() -> None: ...

            bell.store.check()
            caller = sqlite3.connect(path, isolation_level=None)
            caller.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreUnavailable, match="`workbell doctor` names the process"):
                work.enqueue()
            caller.execute("ROLLBACK")
            caller.close()
            run = work.enqueue()
            assert [found.id for found in bell.runs()] == [run.id]

    def test_threads_take_turns(self, bell: Workbell) -> None:
        """Eight threads of one process, each with a lone commit at a time: all get through."""
        made: list[str] = []

        def write() -> None:
            made.extend(bell.enqueue("work").id for _ in range(20))

        threads = [threading.Thread(target=write) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert len(set(made)) == 160
        assert bell.store.runs.find(made).keys() == set(made)
