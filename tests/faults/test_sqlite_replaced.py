"""A store whose file is taken away or exchanged under running processes: no acknowledged enqueue vanishes silently."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support.fleet import Fleet, stop
from tests.support.processes import Process, Site, turn
from tests.support.waiting import until
from workbell import StoreUnavailable, Workbell
from workbell.cli.probe import ask
from workbell.model.listen_address import read_listen_address
from workbell.process.platform import platform
from workbell.stores.sqlite import file_guard
from workbell.stores.sqlite.file import SqliteFile
from workbell.stores.sqlite.file_guard import LOG_PACE, FileGuard, Identity, Loss, Seen, what_happened
from workbell.stores.sqlite.locks import FileLock
from workbell.stores.sqlite.store import SqliteStore

ENOUGH = 30  # enqueues before the fault
REMEDY = "Stop every process of this store, put the file back or run `workbell restore FILE`, and start again"


def beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def copy_of(path: Path) -> Path:
    """A consistent copy, with a checkpoint after it, as every ten seconds."""
    copied = path.with_name("older.db")
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(copied)) as copy:
        source.execute("PRAGMA wal_autocheckpoint = 0")
        source.backup(copy)
    with Workbell(f"sqlite:///{path}") as bell:
        bell.emit("copy.made")
        bell.store.tidy()
    return copied


def delete(path: Path) -> None:
    for ending in ("", "-wal", "-shm"):
        beside(path, ending).unlink()


def delete_all(path: Path) -> None:
    delete(path)
    beside(path, "-lock").unlink()


def replace(path: Path) -> None:
    path.with_name("older.db").replace(path)


def overwrite(path: Path) -> None:
    """As `cp older.db workbell.db`: the file keeps its inode. Not in the middle of a checkpoint, which hides it."""
    with turn(path):
        shutil.copyfile(path.with_name("older.db"), path)


def empty(path: Path) -> None:
    with turn(path):
        os.truncate(path, 0)


def cut_in_half(path: Path) -> None:
    with turn(path):
        os.truncate(path, path.stat().st_size // 2)


def remove_log(path: Path) -> None:
    beside(path, "-wal").unlink()
    beside(path, "-shm").unlink()


def empty_log(path: Path) -> None:
    """Of a log that was just copied into the file nothing is lost: the next commit begins it anew."""

    def emptied() -> bool:
        with turn(path):
            if holds_more(path):
                os.truncate(beside(path, "-wal"), 0)
                return True
        return False

    until(emptied, "a log with commits that are not in the file")


def holds_more(path: Path) -> bool:
    """Whether the log has frames that no checkpoint has copied, as its index says: mxFrame and nBackfill."""
    index = beside(path, "-shm").read_bytes()
    return int.from_bytes(index[16:20], sys.byteorder) > int.from_bytes(index[96:100], sys.byteorder)


FAULTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "delete": (delete, "was deleted"),
    "delete all": (delete_all, "was deleted"),
    "delete the file alone": (Path.unlink, "was deleted"),
    "move away": (lambda path: path.rename(path.with_name("moved.db")), "was deleted"),
    "replace": (replace, "was replaced by another file"),
    "overwrite": (overwrite, "was overwritten with other or older content"),
    "empty": (empty, "was cut short"),
    "cut in half": (cut_in_half, "was cut short"),
    "remove the log": (remove_log, "lost its log"),
    "remove the log alone": (lambda path: beside(path, "-wal").unlink(), "lost its log"),
    "empty the log": (empty_log, "lost its log"),
    "remove the index": (lambda path: beside(path, "-shm").unlink(), "lost its log"),
}


class Scene(Site):
    """A worker and a process that enqueues, as a web process does, on one file."""

    def begin(self) -> tuple[Process, Process]:
        web, worker = self.start("stubborn", program="file_writers"), self.worker()
        self.await_ready(web, worker)
        self.open_gate("begin")
        until(lambda: len(self.acknowledged()) >= ENOUGH and self.starts(pid=worker.pid), "runs", 60)
        return web, worker

    def acknowledged(self) -> list[dict]:
        return [event for event in self.events() if event["kind"] == "acknowledged"]

    def refused(self) -> list[dict]:
        return [event for event in self.events() if event["kind"] == "refused"]

    def lines_of(self, process: Process) -> list[str]:
        """Lines of its log about the loss."""
        return [line for line in self.logged().splitlines() if f" {process.pid} " in line and REMEDY in line]

    def end(self, *processes: Process) -> None:
        self.open_gate("end")
        for process in processes:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            process.wait(60)


seen_by_others = pytest.mark.skipif(
    not platform().open_file_locks, reason="without locks of open files nobody sees who has a SQLite file open"
)


@seen_by_others
@pytest.mark.parametrize("fault", FAULTS)
def test_under_a_worker_and_a_web_process(tmp_path: Path, path: Path, sqlite_url: str, fault: str) -> None:
    act, said = FAULTS[fault]
    with Scene(tmp_path, sqlite_url, POLL="0.5") as site:
        web, worker = site.begin()
        copy_of(path)
        count = len(site.acknowledged())
        until(lambda: len(site.acknowledged()) > count + ENOUGH, "more enqueues")

        act(path)
        acted = time.monotonic()

        told = until(site.refused, "the web process to be refused")[0]
        assert said in told["text"]
        assert REMEDY in told["text"]
        until(lambda: site.lines_of(worker), "the worker to say it")
        until(lambda: len(site.refused()) > 20, "more refusals")
        patience = 5 * LOG_PACE if said == "lost its log" else 0
        assert not [event for event in site.acknowledged() if event["begun"] > acted + patience]
        assert len(site.lines_of(web)) == 1, "once, and not with each call"
        assert len(site.lines_of(worker)) <= 20, "once for each duty"
        assert worker.poll() is None, "a worker that ends would leave room for a second store"

        newcomer = site.start("stores", program="file_writers")
        assert newcomer.wait(60) != 0, "another process must not begin there"
        assert path.exists() == (said != "was deleted")

        before = site.acknowledged()
        site.end(web, worker)
        assert site.acknowledged() == before, "the newcomer was refused"
        if fault in ("remove the log", "remove the log alone", "remove the index"):
            # The last one to close the file has written the log into it, which it still had open.
            assert {event["runs"][0] for event in before} <= runs_in(path)
        elif fault == "move away":
            path.with_name("moved.db").rename(path)  # put back
            assert {event["runs"][0] for event in before} <= runs_in(path)


@seen_by_others
@pytest.mark.timeout(110)
def test_under_a_supervisor(tmp_path: Path, path: Path, sqlite_url: str) -> None:
    """Probes are red. A worker that must end before its lease does is started again, and makes no second store."""
    with Fleet(tmp_path, sqlite_url, LEASE="2", POLL="0.5") as site:
        fleet = site.supervise("worker", "--processes", "1", "--probe", "127.0.0.1:0")
        site.await_workers(fleet, 1)
        address = read_listen_address(
            until(lambda: re.findall(r"answered at ([\w.:]+)", site.logged()), "its address")[0]
        )
        until(lambda: ask(address, "/readyz")[0], "it to be ready", 60)
        with Workbell(sqlite_url) as bell:
            bell.job(name="held_plain")(lambda gate: None)
            run = bell.enqueue("held_plain", {"gate": "never"})
            site.await_start(run.id)
        delete(path)
        until(lambda: not ask(address, "/readyz")[0], "it to be red", 60)
        until(lambda: "is missing, and a store that was there is in use" in site.logged(), "the next worker", 60)
        assert "this worker ends before its leases do" in site.logged()
        assert not path.exists()
        assert stop(fleet) == 0
        assert not path.exists()


def runs_in(path: Path) -> set[str]:
    with Workbell(f"sqlite:///{path}") as bell:
        bell.runs(limit=1)
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            found = connection.execute("SELECT id FROM workbell_runs UNION ALL SELECT id FROM workbell_history")
            return {row[0] for row in found}


class TestStartedLater:
    """A process that was not there when the file was lost."""

    @seen_by_others
    def test_no_second_store_beside_a_living_one(self, path: Path, bell: Workbell) -> None:
        bell.enqueue("work")
        delete(path)
        check_refused(path, "is missing, and a store that was there is in use")
        assert not path.exists()

    def test_no_second_store_after_a_loss_that_was_noticed(self, path: Path, bell: Workbell) -> None:
        bell.enqueue("work")
        delete_all(path)
        with pytest.raises(StoreUnavailable, match="was deleted"):
            bell.enqueue("work")
        bell.close()
        check_refused(path, "is missing, and the store that was there was deleted while it was in use")
        assert not path.exists()
        beside(path, "-lock").unlink()  # as the message says
        assert runs_in(path) == set()

    def test_no_new_store_beside_the_log_of_an_old_one(self, path: Path, bell: Workbell) -> None:
        bell.enqueue("work")
        shutil.copy(beside(path, "-wal"), path.with_name("kept"))
        bell.close()
        path.unlink()
        path.with_name("kept").rename(beside(path, "-wal"))
        check_refused(path, "is missing, and its log workbell.db-wal is there")

    def test_no_log_is_applied_to_another_file(self, tmp_path: Path, path: Path, sqlite_url: str) -> None:
        """As after a crash: then somebody moves a backup there, and leaves the log."""
        with Site(tmp_path, sqlite_url) as site:
            writer = site.start("stores", program="file_writers")
            site.open_gate("begin")
            site.await_event("acknowledged")
            copy_of(path)
            writer.kill()
            writer.wait(30)
        assert beside(path, "-wal").stat().st_size
        replace(path)
        check_refused(path, "is not the file that the log beside it belongs to")
        for ending in ("-wal", "-shm", "-lock"):
            beside(path, ending).unlink()
        runs_in(path)

    @pytest.mark.parametrize("put_there", ["older", "another store"])
    def test_no_log_is_applied_to_a_file_with_the_same_number(
        self, tmp_path: Path, path: Path, sqlite_url: str, put_there: str
    ) -> None:
        """As after a crash: somebody removes the file and copies a backup there, which gets its number."""
        older = tmp_path / "older.db"
        with Workbell(f"sqlite:///{tmp_path / 'other.db'}") as other:
            other.job(name="work")(lambda: None)
            other.enqueue("work")
        with Site(tmp_path, sqlite_url) as site:
            writer = site.start("stores", program="file_writers")
            site.open_gate("begin")
            site.await_event("acknowledged")
            copy_of(path)
            writer.kill()
            writer.wait(30)
        assert beside(path, "-wal").stat().st_size
        content = (older if put_there == "older" else tmp_path / "other.db").read_bytes()
        path.write_bytes(content)  # the same number for sure
        why = "is older than the log beside it" if put_there == "older" else "is another store than the log beside it"
        check_refused(path, why)
        assert path.read_bytes() == content
        for ending in ("-wal", "-shm", "-lock"):
            beside(path, ending).unlink()
        runs_in(path)

    def test_a_copy_that_was_put_there_when_all_had_ended(self, path: Path, sqlite_url: str) -> None:
        """Then there is no log, and an older copy is the store from then on, also after a crash."""
        with Workbell(sqlite_url) as bell:
            bell.job(name="work")(lambda: None)
            bell.enqueue("work")
            copied = copy_of(path)
            for _ in range(3):
                bell.enqueue("work")
                bell.store.tidy()
        content = copied.read_bytes()
        path.write_bytes(content)
        with Workbell(sqlite_url) as bell:
            bell.job(name="work")(lambda: None)
            bell.enqueue("work")
            crashed = {ending: beside(path, ending).read_bytes() for ending in ("", "-wal", "-lock")}
        for ending, content in crashed.items():
            beside(path, ending).write_bytes(content)
        assert len(runs_in(path)) == 2

    def test_no_log_is_deleted_because_the_file_is_empty(self, path: Path, bell: Workbell) -> None:
        bell.enqueue("work")
        os.truncate(path, 0)
        size = beside(path, "-wal").stat().st_size
        check_refused(path, "is empty, and its log is not")
        assert beside(path, "-wal").stat().st_size == size > 0

    def test_a_copied_folder_is_a_store(self, tmp_path: Path, path: Path, bell: Workbell) -> None:
        """Also with a log in it, as after a crash: other inodes mean nothing there."""
        run = bell.enqueue("work")
        (tmp_path / "copied").mkdir()
        for ending in ("", "-wal", "-lock"):
            shutil.copy(beside(path, ending), tmp_path / "copied")
        assert runs_in(tmp_path / "copied" / path.name) == {run.id}


def test_a_file_that_cannot_be_read_any_more(path: Path, bell: Workbell, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stays so, and nobody writes to it: that is no checkpoint."""
    bell.enqueue("work")
    bell.store.tidy()
    file_of(bell).check()
    monkeypatch.setattr(file_guard, "AT_REST", 0.2)
    with path.open("r+b") as content:  # not through SQLite: its locks on the file are gone, as after `cp`
        content.write(b"x" * 100)
    file_of(bell).guard.check_all()
    with pytest.raises(StoreUnavailable, match="was overwritten"):
        until(lambda: file_of(bell).guard.check_all(), "the loss to be noticed")


class TestNoFalseAlarm:
    def test_vacuum_and_checkpoints_of_others(self, path: Path, bell: Workbell) -> None:
        """They make the file and its log shorter."""
        runs = bell.enqueue_many([("work", {"number": number}) for number in range(3000)])
        bell.store.tidy()
        size = path.stat().st_size
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("DELETE FROM workbell_runs WHERE id != ?", [runs[0].id])
            other.execute("VACUUM")
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert path.stat().st_size < size
        assert bell.enqueue("work").id
        bell.store.tidy()
        assert len(bell.runs()) == 2

    def test_a_program_that_empties_the_log_again_and_again(self, path: Path, bell: Workbell) -> None:
        """As Litestream does. A commit may be looked at when the log has just been emptied."""
        ended = threading.Event()

        def empty_the_log() -> None:
            with closing(sqlite3.connect(path, isolation_level=None, timeout=20)) as other:
                while not ended.is_set():
                    other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

        other = threading.Thread(target=empty_the_log)
        other.start()
        try:
            for _ in range(400):
                bell.enqueue("work")
                file_of(bell).check()
        finally:
            ended.set()
            other.join(30)
        assert len(bell.runs(limit=1000)) == 400

    def test_a_log_that_is_emptied_when_all_of_it_is_in_the_file(self, path: Path, bell: Workbell) -> None:
        bell.enqueue("work")
        assert holds_more(path)
        bell.store.tidy()
        assert not holds_more(path)
        os.truncate(beside(path, "-wal"), 0)
        file_of(bell).guard.check_all()
        bell.enqueue("work")
        file_of(bell).guard.check_all()
        bell.close()
        assert len(runs_in(path)) == 2

    def test_a_checkpoint_that_takes_long(self, path: Path, bell: Workbell, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of a large file after VACUUM. Meanwhile the file cannot be read past the log, and goes on to change."""
        bell.enqueue("work")
        bell.store.tidy()
        file_of(bell).check()
        with monkeypatch.context() as torn:
            torn.setattr(FileGuard, "_read_file", lambda *_, **__: None)
            torn.setattr(file_guard, "AT_REST", 0.2)
            for _ in range(5):
                os.utime(path)
                bell.enqueue("work")
                time.sleep(0.06)
        bell.enqueue("work")
        assert len(bell.runs()) == 7

    def test_two_threads_that_look_at_once(self, path: Path, bell: Workbell, monkeypatch: pytest.MonkeyPatch) -> None:
        """The slower one has read what was in the file before another checkpoint, and must not take that for older."""
        guard, others = file_of(bell).guard, []
        read = FileGuard._read_file

        def another() -> None:
            bell.enqueue("work")
            bell.store.tidy()
            guard.check()

        def slowly(self: FileGuard, *arguments: Any, **named: Any) -> Identity | None:
            found = read(self, *arguments, **named)
            if not others:
                others.append(threading.Thread(target=another))
                others[0].start()
                others[0].join(1)  # it looks now, or waits until this look has ended
            return found

        bell.enqueue("work")
        bell.store.tidy()
        guard.check()
        bell.enqueue("work")
        bell.store.tidy()
        monkeypatch.setattr(FileGuard, "_read_file", slowly)
        guard.check()
        others[0].join(30)
        bell.enqueue("work")
        assert guard.loss is None
        assert len(bell.runs()) == 4

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
    def test_a_fork_beside_a_thread_that_looks(
        self, path: Path, bell: Workbell, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """In the child nobody would end that look."""
        guard, looks, goes_on = file_of(bell).guard, threading.Event(), threading.Event()
        read = FileGuard._read_file
        looker = threading.Thread(target=guard.check)

        def slowly(self: FileGuard, *arguments: Any, **named: Any) -> Identity | None:
            if threading.current_thread() is looker:
                looks.set()
                goes_on.wait(30)
            return read(self, *arguments, **named)

        monkeypatch.setattr(FileGuard, "_read_file", slowly)
        bell.enqueue("work")
        bell.store.tidy()
        looker.start()
        assert looks.wait(30)
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            try:
                file_of(bell).ready()
                os.utime(path)
                guard.check()
                os._exit(0)
            finally:
                os._exit(1)
        try:
            assert os.waitpid(child, 0)[1] == 0
        finally:
            goes_on.set()
            looker.join(30)

    def test_a_file_and_its_log_that_were_put_back_together(self, path: Path, sqlite_url: str) -> None:
        """As rsync does it, with the lock file left in place."""
        with Workbell(sqlite_url) as bell:
            bell.job(name="work")(lambda: None)
            bell.enqueue("work")
            kept = {ending: beside(path, ending).read_bytes() for ending in ("", "-wal")}
        beside(path, "-wal").touch()  # else its number may be used again
        for ending, content in kept.items():
            new = beside(path, ending + ".new")
            new.write_bytes(content)
            new.replace(beside(path, ending))
        assert len(runs_in(path)) == 1

    def test_an_older_file_and_its_log_that_were_put_back_in_place(self, path: Path, sqlite_url: str) -> None:
        """As `cp` does it, after a crash: all of them keep their numbers, and the lock file knows more checkpoints."""
        with Workbell(sqlite_url) as bell:
            bell.job(name="work")(lambda: None)
            bell.enqueue("work")
            kept = {ending: beside(path, ending).read_bytes() for ending in ("", "-wal")}
            for _ in range(3):
                bell.enqueue("work")
                bell.store.tidy()
            bell.enqueue("work")
            noted = beside(path, "-lock").read_bytes()
        for ending, content in kept.items():
            beside(path, ending).write_bytes(content)
        beside(path, "-lock").write_bytes(noted)
        assert len(runs_in(path)) == 1

    def test_touched_and_with_another_mode(self, path: Path, bell: Workbell) -> None:
        os.utime(path)
        path.chmod(0o640)
        assert bell.enqueue("work").id

    def test_a_log_of_another_program_before_workbell_opens_the_file(self, path: Path, sqlite_url: str) -> None:
        """The application's own connection may be the first: then there is no lock file yet."""
        with closing(sqlite3.connect(path)) as other:
            other.execute("CREATE TABLE orders (id INTEGER)")
            other.commit()
            assert beside(path, "-wal").stat().st_size
            assert not beside(path, "-lock").exists()
            with Workbell(sqlite_url) as bell:
                bell.job(name="work")(lambda: None)
                assert bell.enqueue("work", connection=other).id
                other.commit()
                assert len(bell.runs()) == 1

    def test_a_relative_path_and_another_folder(self, tmp_path: Path, sqlite_url: str, monkeypatch) -> None:
        monkeypatch.chdir(tmp_path)
        with Workbell("sqlite:///workbell.db") as bell:
            bell.emit("work.done")
            (tmp_path / "elsewhere").mkdir()
            monkeypatch.chdir(tmp_path / "elsewhere")
            bell.emit("work.done")
            assert len(bell.events.list()) == 2
        assert not list((tmp_path / "elsewhere").iterdir())

    def test_a_relative_path_another_folder_and_a_fork(self, tmp_path: Path, monkeypatch, sqlite_files) -> None:
        """A fork closes the file, and it is opened again: where it was."""
        monkeypatch.chdir(tmp_path)
        with Workbell("sqlite:///workbell.db") as bell:
            bell.emit("work.done")
            (tmp_path / "elsewhere").mkdir()
            monkeypatch.chdir(tmp_path / "elsewhere")
            file_of(bell).close()
            bell.emit("work.done")
            with FileLock(tmp_path / "workbell.db-lock") as other:  # whose turn it is: the wait opens the lock file
                other.acquire(10)
                timer = threading.Timer(0.2, other.release)
                timer.start()
                bell.emit("work.done")
                timer.join()
            assert len(bell.events.list()) == 3
        assert not list((tmp_path / "elsewhere").iterdir())

    def test_closed_meanwhile(self, path: Path, bell: Workbell) -> None:
        """The last one to close the file removes its log: a check of another thread must not take that for a loss."""
        bell.enqueue("work")
        file_of(bell).close()
        assert not beside(path, "-wal").exists()
        file_of(bell).guard.check_all()
        assert bell.enqueue("work").id

    def test_other_numbers_of_the_same_file(self) -> None:
        """Some file systems change inode numbers. A copy has other times, or other content."""
        before = Seen(1, 2, 4096, 100, 100)
        ours, older = Identity("a", "", 7), Identity("a", "", 6)
        assert what_happened(before, before._replace(device=9, inode=8), ours, ours) is None
        assert what_happened(before, before._replace(inode=8, altered=101), ours, ours) is Loss.REPLACED
        assert what_happened(before, before._replace(inode=8), ours, older) is Loss.REPLACED
        assert what_happened(before, before._replace(inode=8), ours, None) is Loss.REPLACED


class TestOpenedAgain:
    """A file that the process closes for a while, as for a fork."""

    def test_another_store(self, path: Path, bell: Workbell, sqlite_files) -> None:
        bell.enqueue("work")
        file_of(bell).close()
        path.unlink()
        with Workbell(f"sqlite:///{path}") as other:
            other.store.check()
        with pytest.raises(StoreUnavailable, match="was replaced by another file"):
            bell.enqueue("work")

    def test_an_older_copy(self, path: Path, bell: Workbell) -> None:
        bell.enqueue("work")
        copied = copy_of(path)
        file_of(bell).close()
        copied.replace(path)
        with pytest.raises(StoreUnavailable, match="was replaced by another file"):
            bell.enqueue("work")

    def test_no_file(self, path: Path, bell: Workbell) -> None:
        bell.enqueue("work")
        file_of(bell).close()
        path.unlink()
        with pytest.raises(StoreUnavailable, match="is missing, and this process has used the store that was there"):
            bell.enqueue("work")
        assert not path.exists()


def test_a_connection_of_the_caller(path: Path, bell: Workbell) -> None:
    with closing(sqlite3.connect(path)) as connection:
        bell.enqueue("work", connection=connection)
        connection.commit()
        delete(path)
        connection.execute("BEGIN")
        with pytest.raises(StoreUnavailable, match="was deleted"):
            bell.enqueue("work", connection=connection)


def check_refused(path: Path, why: str) -> None:
    """By an object of its own, as another process has one."""
    with Workbell(f"sqlite:///{path}") as other:
        with pytest.raises(StoreUnavailable, match=re.escape(why)) as caught:
            other.runs(limit=1)
        assert REMEDY in str(caught.value)


def file_of(bell: Workbell) -> SqliteFile:
    assert isinstance(bell.store, SqliteStore)
    return bell.store.file
