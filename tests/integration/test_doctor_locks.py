"""`workbell doctor` on locks: who holds up whom, on PostgreSQL and on SQLite's file, and how to end it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest

from tests.support.inside.cli import examine
from tests.support.inside.features import PLATFORM_VARIABLE as VARIABLE
from tests.support.inside.features import locks
from tests.support.inside.stores import FileLock
from tests.support.inside.stores import postgres_sessions as sessions
from tests.support.processes import file_of, state
from tests.support.waiting import until
from workbell import StoreUnavailable, Workbell

SECRET = "hunter2"
HOLD_TURN = """
import fcntl, os, sys
lock = os.open(sys.argv[1] + "-lock", os.O_RDWR | os.O_CREAT)
fcntl.flock(lock, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""
HOLD_FILE = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
"""


def findings(url: str) -> list[tuple[str, str, str | None]]:
    found = [one for one in examine(url).findings if one.what in ("write lock", "blocked", "open transaction")]
    return [(one.level, one.says, one.remedy) for one in found]


@pytest.mark.parametrize(
    ("statement", "seen"),
    [
        ("SELECT 1", "SELECT ?"),
        ("UPDATE t SET a = $1,\n  b = 3.5 WHERE id = $2", "UPDATE t SET a = $1, b = ? WHERE id = $2"),
        ("UPDATE t SET a = 'C:\\' AND b = 'hunter2'", "UPDATE t SET a = …"),
        ("SELECT $tag$hunter2$tag$", "SELECT …"),
        ("SELECT \"a\" FROM t WHERE b = E'hunter2'", 'SELECT "a" FROM t WHERE b = E …'),
        ("SELECT a1 FROM " + "x" * 200, "SELECT a1 FROM " + "x" * 85 + " …"),
    ],
)
def test_statements_are_shown_without_values(statement: str, seen: str) -> None:
    assert sessions.shown(statement) == seen


class TestPostgres:
    @pytest.fixture
    def url(self, postgres_url: str) -> str:
        with Workbell(postgres_url) as bell:
            bell.job(name="work")(lambda: None)
            bell.store.check()
            bell.schedules.put("nightly", job="work", cron="0 3 * * *")
        return postgres_url

    @contextmanager
    def waiting(self, url: str, name: str = "impatient") -> Iterator[int]:
        """A session that waits for a row until the one who has it lets go; its process."""
        connection = psycopg.connect(url, application_name=name)
        statement = "UPDATE workbell_schedules SET last_error = 'hunter2'"

        def wait() -> None:
            with suppress(psycopg.Error):
                connection.execute(statement)

        thread = threading.Thread(target=wait)
        thread.start()
        pid = connection.info.backend_pid
        with psycopg.connect(url, autocommit=True) as other:
            blocked = "SELECT 1 FROM pg_stat_activity WHERE pid = %s AND wait_event_type = 'Lock'"
            until(lambda: other.execute(blocked, [pid]).fetchone(), "the session to wait")
            try:
                yield pid
            finally:
                other.execute("SELECT pg_terminate_backend(%s)", [pid])
                thread.join(10)
                connection.close()

    def test_nobody_waits(self, url: str) -> None:
        assert findings(url) == []

    def test_who_blocks_whom(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sessions, "WAITED", 0.0)
        monkeypatch.setattr(sessions, "IDLE", 0.0)
        with psycopg.connect(url, application_name="forgotten") as holder:
            pid = holder.info.backend_pid
            holder.execute("UPDATE workbell_schedules SET run_count = 1234567890, last_error = 'hunter2'")
            with self.waiting(url) as first, self.waiting(url, "second"):
                ((level, says, remedy),) = findings(url)
        assert level == "risk"
        assert f"session {pid} (forgotten, " in says
        assert "has been idle in a transaction for" in says
        assert f"holds up 2 sessions, among them {first} (impatient, " in says
        assert "its last statement: `UPDATE workbell_schedules SET run_count = ?, last_error = …`" in says
        assert SECRET not in says
        assert "1234567890" not in says
        assert remedy == f"end its transaction, or the session: SELECT pg_terminate_backend({pid})."

    def test_a_transaction_that_is_left_open(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        with psycopg.connect(url, application_name="forgotten") as holder:
            pid = holder.info.backend_pid
            holder.execute("SELECT 1 FROM workbell_schedules FOR UPDATE")
            assert findings(url) == [], "it may go on at any moment"
            monkeypatch.setattr(sessions, "IDLE", 0.0)
            ((level, says, remedy),) = findings(url)
        assert level == "note"
        assert f"session {pid} (forgotten, " in says
        assert "idle in a transaction" in says
        assert remedy is not None
        assert f"pg_terminate_backend({pid})" in remedy

    def test_transactions_about_other_tables_are_none_of_ours(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sessions, "IDLE", 0.0)
        with psycopg.connect(url) as holder:
            holder.execute("CREATE TEMPORARY TABLE theirs (id integer)")
            assert findings(url) == []

    def test_a_table_that_is_locked_as_a_whole(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Then nothing else can be read: this is said first."""
        monkeypatch.setattr(sessions, "WAITED", 0.0)
        with psycopg.connect(url, application_name="migration") as holder:
            pid = holder.info.backend_pid
            holder.execute("LOCK TABLE workbell_schedules IN ACCESS EXCLUSIVE MODE")
            with self.waiting(url), Workbell(url) as bell:
                ((says),) = [one.says for one in locks.check_locks(bell.store, {})]
        assert f"session {pid} (migration, " in says


@pytest.mark.skipif(sys.platform != "linux", reason="the list of locks is Linux's")
class TestSqlite:
    @pytest.fixture(autouse=True)
    def with_list_of_locks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Also where the other tests do without: one below is about a system that has none."""
        monkeypatch.setenv(VARIABLE, "auto")

    @pytest.fixture
    def path(self, sqlite_url: str) -> Path:
        with Workbell(sqlite_url) as bell:
            bell.store.check()
        path = file_of(sqlite_url)
        assert path is not None
        return path

    @contextmanager
    def holding(self, path: Path, program: str, *, stopped: bool) -> Iterator[int]:
        arguments = [sys.executable, "-c", program, str(path)]
        with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"held\n"
            if stopped:
                os.kill(process.pid, signal.SIGSTOP)
                until(lambda: state(process.pid) == "T", "it to stop")
            try:
                yield process.pid
            finally:
                process.kill()

    def test_nobody_holds_it(self, path: Path, sqlite_url: str) -> None:
        assert findings(sqlite_url) == []

    @pytest.mark.parametrize("program", [HOLD_TURN, HOLD_FILE], ids=["turn", "file"])
    def test_a_stopped_process_holds_it(self, path: Path, sqlite_url: str, program: str) -> None:
        with self.holding(path, program, stopped=True) as pid:
            began = time.monotonic()
            ((level, says, remedy),) = findings(sqlite_url)
            assert time.monotonic() - began < 5
        assert level == "risk"
        assert f"process {pid} " in says
        assert "is stopped (state T)" in says
        assert remedy == f"let it go on (kill -CONT {pid}) or end it (kill -KILL {pid})."

    @pytest.mark.parametrize("program", [HOLD_TURN, HOLD_FILE], ids=["turn", "file"])
    def test_a_running_process_holds_it_for_long(
        self, path: Path, sqlite_url: str, program: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(locks, "LONG", 0.2)
        with self.holding(path, program, stopped=False) as pid:
            ((level, says, remedy),) = findings(sqlite_url)
        assert level == "risk"
        assert f"process {pid} " in says
        assert remedy is not None
        assert str(pid) in remedy

    def test_a_system_that_does_not_say_who(self, path: Path, sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(locks, "can_read_locks", lambda: False)
        monkeypatch.setattr(locks, "LONG", 0.2)
        assert findings(sqlite_url) == []
        with self.holding(path, HOLD_TURN, stopped=False):
            ((level, says, remedy),) = findings(sqlite_url)
        assert (level, remedy) == ("risk", f"`lsof {path}-lock` names the process.")
        assert "does not say who" in says

    def test_busy_writers_are_no_finding(self, path: Path, sqlite_url: str) -> None:
        """They hold it most of the time, and all of them come to write."""
        ended = threading.Event()

        def write(bell: Workbell) -> None:
            while not ended.is_set():
                bell.enqueue("work")

        with Workbell(sqlite_url) as bell:
            bell.job(name="work")(lambda: None)
            thread = threading.Thread(target=write, args=[bell])
            thread.start()
            try:
                assert [findings(sqlite_url) for _ in range(3)] == [[]] * 3
            finally:
                ended.set()
                thread.join()

    def test_the_message_of_who_waits_sends_here(self, path: Path, sqlite_url: str) -> None:
        """P7: the error says `workbell doctor`, and that names the process."""
        with self.holding(path, HOLD_TURN, stopped=True) as pid:
            with FileLock(path.with_name(path.name + "-lock")) as lock, pytest.raises(StoreUnavailable, match="doctor"):
                lock.acquire(0.1)
            assert any(f"process {pid} " in says for _, says, _ in findings(sqlite_url))
