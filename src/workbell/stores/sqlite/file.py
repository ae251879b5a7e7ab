"""The SQLite file: its connections, its write transactions and its checkpoints.

The rules, all of them for one reason each:

* Only the standard library's sqlite3 touches the file: two SQLite libraries in one process drop each other's locks.
* WAL with synchronous=FULL: a commit that returned survives a power cut.
* Auto-checkpoint is off on every connection. SQLite before 3.51.3 can lose committed data when a commit and a
  checkpoint of different connections overlap. `checkpoint` therefore runs while a second connection of ours holds
  the write lock: no commit, ours or a caller's, can overlap it.
* Write transactions take turns, in the process (see turns.py; lease renewals first) and on a file lock (see locks.py),
  and begin IMMEDIATE, so that none fails half-way.
* A commit is acknowledged only if the file is still there, and still the one that is open (see file_guard.py).
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakSet

from workbell.errors import StoreError, StoreUnavailable
from workbell.stores.sqlite import forks
from workbell.stores.sqlite.dialect import QUERIES
from workbell.stores.sqlite.file_guard import NEVER_CLOSED, FileGuard
from workbell.stores.sqlite.lock_holders import side_file
from workbell.stores.sqlite.locks import FileLock, is_marked_open
from workbell.stores.sqlite.modes import create_private
from workbell.stores.turns import Turn, Turns

T = TypeVar("T")

DEADLINE = 10.0  # seconds for the locks of a write
MOMENT = 2.0  # seconds for a lock that keeps out readers
LOCK_POLL_SECONDS = 0.0002  # between tries for the write lock while a caller's connection has it
FORK_WAIT = 0.5  # seconds that a fork waits for calls under way
CHECKPOINT_ROWS = 4000  # row changes after which this process makes a checkpoint
CHECKPOINT_COMMITS = 500
OLDEST = (3, 38, 0)
SAFE = (3, 51, 3)
BACKPORTS = ((3, 44, 6), (3, 50, 7))


class WriteTurn(Turn, eq=False):
    """A turn at writing, and the file lock that may be held within it."""

    file_lock: FileLock | None = None


class SqliteFile:
    """One database file as this process sees it."""

    def __init__(self, path: Path) -> None:
        if sqlite3.sqlite_version_info < OLDEST:
            raise StoreError(
                f"Python's sqlite3 has SQLite {sqlite3.sqlite_version}; Workbell needs 3.38 or newer. "
                "Use a newer Python build, or PostgreSQL."
            )
        self.path = path.absolute()  # the process may change its folder
        self.shown = path  # in messages, as it was given
        self.guard = FileGuard(self.path)
        self._pid = -1
        self._start_afresh()
        forks.files.add(self)

    def _start_afresh(self) -> None:
        self._turns = Turns()
        self._guard = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._made: WeakSet[sqlite3.Connection] = WeakSet()
        self._reading: list[threading.Lock] = []  # each is locked as long as its thread reads (see turns.py)
        self.guard.start_afresh()

    def _open(self) -> None:
        """Open for this process: also again after a fork (see forks.py)."""
        try:
            forks.check(self.path)
            if not self.path.parent.is_dir():
                raise StoreUnavailable(
                    f"{self.shown}: the folder {self.shown.parent} does not exist; create it, or change the URL."
                )
            self._before_open()
            create_private(self.path)
            self._address = f"{self.path.as_uri()}?mode=rw"  # which never makes a file
            self._file_lock = FileLock(side_file(self.path), like=self.path)
            made = set(self._made)
            try:
                self._open_connections()
            except BaseException:
                for connection in set(self._made) - made:
                    connection.close()
                self._file_lock.close()
                raise
        except OSError as error:
            raise unusable(self.shown, error) from error
        except sqlite3.Error as error:
            raise translation(self.shown, error) from error
        self._commits = 0
        self._rows_at_checkpoint = 0
        self._failed_checkpoint: sqlite3.Error | None = None
        self._pid = os.getpid()

    def _before_open(self) -> None:
        """Raise if the file must not be opened now. A restore removes the log, which is no loss then."""
        if is_marked_open(side_file(self.path), alone=True):
            raise self._being_restored()
        try:
            self.guard.before_open()
        except StoreUnavailable:
            if is_marked_open(side_file(self.path), alone=True):  # it has begun meanwhile
                raise self._being_restored() from None
            raise

    def _being_restored(self) -> StoreUnavailable:
        return StoreUnavailable(f"{self.shown} is being restored from a backup; try again when that has ended.")

    def _open_connections(self) -> None:
        before = self.path.stat()
        self._use_log()
        self.writer = self.connect()
        self.writer.execute("PRAGMA busy_timeout = 0")  # see execute_patiently
        self._checkpointer = self.connect()
        if not self._file_lock.mark_open():  # by now the log exists: a mark without a log means that it was removed
            raise self._being_restored()
        self.guard.opened(before, self.writer, self._file_lock)

    def _use_log(self) -> None:
        """Make a new file one with a write-ahead log. The change needs the file alone, and SQLite does not wait for
        that: of several processes that start together all but one got "locked" at once. So they take turns."""
        with contextlib.closing(
            sqlite3.connect(self._address, timeout=DEADLINE, isolation_level=None, uri=True)
        ) as connection:
            if connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
                return
            try:
                self._file_lock.acquire(DEADLINE)
                execute_patiently(connection, "PRAGMA journal_mode = wal")
            finally:
                try:
                    self._file_lock.release()
                finally:
                    self._file_lock.release()  # if an interrupt came between

    def ready(self) -> None:
        if self._pid != os.getpid():
            with forks.opening:
                if self._pid != os.getpid():
                    self._open()

    def may_make_tables(self) -> bool:
        """Whether the tables are there, or can be made at once: nobody, also no caller of ours, has the file locked.

        Checked on a connection of its own, which waits for no writer: opening the file would. Readers are kept out for
        moments only, by a program that opens the file after a crash or closes it as the last one.
        """
        if not self.path.exists():
            return True
        if self._pid != os.getpid():
            self._before_open()
        with contextlib.closing(sqlite3.connect(self.path, timeout=MOMENT, isolation_level=None)) as connection:
            try:
                if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'workbell_meta'").fetchone():
                    return True
                has_log = connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
                connection.execute("PRAGMA busy_timeout = 0")
                # To give it a log, the file is needed alone: without readers too.
                connection.execute("BEGIN IMMEDIATE" if has_log else "BEGIN EXCLUSIVE")
                connection.execute("ROLLBACK")
            except sqlite3.OperationalError as error:
                return "locked" not in str(error)  # any other error is raised when the file is opened
        return True

    def connect(self) -> sqlite3.Connection:
        if self._pid == os.getpid():  # else it is just being opened
            self.guard.check_all()
        connection = sqlite3.connect(
            self._address,
            timeout=DEADLINE,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
            factory=SqliteConnection,
            uri=True,
        )
        self._made.add(connection)
        connection.execute("PRAGMA synchronous = full")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        return connection

    def look(self) -> None:
        """Notice within a second that the file was lost; calls that use it raise then."""
        if self._pid == os.getpid() and self.guard.is_due():
            with contextlib.suppress(StoreError), self.reader():
                pass

    def check(self) -> None:
        """Raise if the file was lost."""
        with self.reader():
            self.guard.check_all()

    @contextmanager
    def reader(self) -> Iterator[sqlite3.Connection]:
        """A connection for reading; readers never wait for writers."""
        here = threading.Lock()
        with here:
            connection = self._borrow(here)
            try:
                self.guard.check_now_and_then()
                connection = connection or self.connect()
                try:
                    yield connection
                finally:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
            except sqlite3.Error as error:
                raise self._explain(error) from error
            finally:
                with self._guard:
                    if here in self._reading:  # else this is a child that was forked meanwhile
                        self._reading.remove(here)
                        if connection is not None:
                            self._idle.append(connection)

    def _borrow(self, here: threading.Lock) -> sqlite3.Connection | None:
        while True:
            if self._pid != os.getpid():
                self.ready()
            with self._guard:
                if self._pid == os.getpid():  # else it was just closed for a fork
                    self._reading.append(here)
                    if not self._idle:
                        return None
                    connection = self._idle[-1]
                    del self._idle[-1]  # not `pop`: an interrupt behind that call would lose the connection
                    return connection

    def write(self, work: Callable[[sqlite3.Connection], T], *, first: bool = False) -> T:
        """Run a function in one write transaction, in turn with every other writer: first among the threads of this
        process, then among the processes."""
        # Plain try and finally: with context managers this cost a tenth of an enqueue.
        turn = WriteTurn()
        with turn.here:
            try:
                if not self._turns.take(turn, DEADLINE, first=first):
                    raise StoreUnavailable(
                        f"{self.path.name}: no turn at writing within {DEADLINE:g} s; is the disk stuck?"
                    )
                if self._pid != os.getpid():  # within the turn: a fork closes the file, and takes a turn for that
                    self.ready()
                if self.guard.loss is not None:
                    self.guard.check()
                turn.file_lock = self._file_lock
                self._file_lock.acquire(DEADLINE)
                if self.writer.in_transaction:  # left behind by a second interrupt
                    self.writer.execute("ROLLBACK")
                return self._transact(work)
            except sqlite3.Error as error:
                raise self._explain(error) from error
            finally:
                try:
                    self._end_turn(turn)
                except BaseException:  # an interrupt before it had an effect: other processes would be shut out
                    self._end_turn(turn)
                    raise

    def _explain(self, error: sqlite3.Error) -> StoreError:
        """SQLite's error as ours. If the file was taken away, that is the reason, whatever SQLite says."""
        if not isinstance(error, sqlite3.IntegrityError) and self._pid == os.getpid():
            try:
                self.guard.check_after(error)
            except StoreUnavailable as lost:
                return lost
        return translation(self.shown, error)

    def _end_turn(self, turn: WriteTurn) -> None:
        if turn.file_lock is not None:
            turn.file_lock.release()
            turn.file_lock = None
        self._turns.give_back(turn)

    def _transact(self, work: Callable[[sqlite3.Connection], T]) -> T:
        writer = self.writer
        try:
            execute_patiently(writer, "BEGIN IMMEDIATE")
            result = work(writer)
            is_due = (
                self._commits + 1 >= CHECKPOINT_COMMITS
                or writer.total_changes - self._rows_at_checkpoint >= CHECKPOINT_ROWS
            )
            if is_due and writer.total_changes != self._rows_at_checkpoint:
                self._count_checkpoint()
            writer.execute("COMMIT")
        except BaseException:
            if writer.in_transaction:
                writer.execute("ROLLBACK")
            raise
        self.guard.check()
        self._commits += 1
        if is_due:
            self.guard.check_all()  # a checkpoint would write what is left of a log into the file
            try:
                self._checkpoint()
            except sqlite3.OperationalError as error:  # the work is committed, whatever comes of this
                self._failed_checkpoint = error
        return result

    def _count_checkpoint(self) -> None:
        try:
            self.writer.execute(QUERIES["count_checkpoint"])
        except sqlite3.OperationalError as error:
            if "no such table" not in str(error):
                raise

    def checkpoint(self) -> None:
        """Move what the log holds into the file: behind a transaction that writes nothing."""

        def ask(_: sqlite3.Connection) -> None:
            self._commits, self._failed_checkpoint = CHECKPOINT_COMMITS, None

        self.write(ask)
        if self._failed_checkpoint is not None:  # a full disk must be heard of: the log would grow for ever
            raise translation(self.shown, self._failed_checkpoint)

    def _checkpoint(self) -> None:
        try:
            execute_patiently(self.writer, "BEGIN IMMEDIATE")
            ((_, log, moved),) = self._checkpointer.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
            if log == moved:  # then SQLite has flushed the file
                self.guard.checkpointed(self.writer, self._file_lock)
        finally:
            if self.writer.in_transaction:
                self.writer.execute("ROLLBACK")
        self._commits = 0
        self._rows_at_checkpoint = self.writer.total_changes

    def close_for_fork(self) -> None:
        if self._pid != os.getpid():
            return
        turn = Turn()
        with turn.here:
            try:
                if self._turns.take(turn, FORK_WAIT):
                    end = time.monotonic() + FORK_WAIT
                    while not self._close_if_quiet() and self._reading and time.monotonic() < end:
                        time.sleep(0.001)
            finally:
                self._turns.give_back(turn)

    def _close_if_quiet(self) -> bool:
        with self._guard:
            # Also one that is only being opened: SQLite holds locks meanwhile that the child would wait for forever.
            self._reading = [here for here in self._reading if here.locked()]
            if self._reading:
                return False
            ours = {self.writer, self._checkpointer, *self._idle}
            if any(is_open(connection) for connection in list(self._made) if connection not in ours):
                return False
            self.close()
            return True

    def wake_in_child(self) -> bool:
        was_open = self._pid != -1
        if was_open:
            # Never closed here: that would reach into what belongs to the parent.
            _inherited.append((self.writer, self._checkpointer, *self._made))
            self.guard.forget()
            self._file_lock.close()
            self._pid = -1
        self._start_afresh()
        return was_open

    def close(self) -> None:
        if self._pid != os.getpid():
            return
        self._pid = -1
        self.guard.closing(self.writer)
        self._file_lock.unmark()  # before the log goes: see file_guard.py
        for connection in (*self._idle, self._checkpointer, self.writer):
            if self.guard.loss in NEVER_CLOSED:
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))  # else the interpreter closes it at its end
            else:
                connection.close()
        self._idle.clear()
        self._file_lock.close()


_inherited: list[Any] = []


class SqliteConnection(sqlite3.Connection):
    """The standard one, but weak references to it are possible."""


def is_open(connection: sqlite3.Connection) -> bool:
    try:
        return connection.total_changes >= 0
    except sqlite3.ProgrammingError:
        return False


def execute_patiently(connection: sqlite3.Connection, sql: str) -> None:
    """Execute what needs a lock of the file: try until it is free, at most for the deadline.

    Callers' own connections take no turns, and SQLite's waiting, which soon sleeps for 100 ms at a time, gets nowhere
    against one that commits in a tight loop; so we try more often.
    """
    end = 0.0
    while True:
        try:
            connection.execute(sql)
            return
        except sqlite3.OperationalError as error:
            end = end or time.monotonic() + DEADLINE
            if "locked" not in str(error) or time.monotonic() >= end:
                raise
        time.sleep(LOCK_POLL_SECONDS)


def unusable(path: Path, error: OSError) -> StoreUnavailable:
    """The error for a file that the system does not let us open or find."""
    remedy = "change the URL (--url, WORKBELL_URL, or url in workbell.toml)"
    if isinstance(error, PermissionError):
        remedy = f"make the folder {path.parent} readable and writable for this user, or {remedy}"
    elif error.errno in (errno.ENOSPC, errno.EDQUOT):
        remedy = "free some space"
    return StoreUnavailable(f"{path}: {error.strerror}; {remedy}.")


def translation(path: Path, error: sqlite3.Error) -> StoreError:
    """SQLite's errors as ours, with a remedy."""
    text = str(error)
    if not isinstance(error, sqlite3.OperationalError):
        ours = isinstance(error, sqlite3.IntegrityError | sqlite3.ProgrammingError | sqlite3.InterfaceError)
        return StoreError(f"{path.name}: {text}." if ours else f"{path}: {text}; is this the right file?")
    if "locked" in text or "busy" in text:
        return StoreUnavailable(
            f"{path.name}: another connection held the write lock for over {DEADLINE:g} s; "
            "end its transaction (`workbell doctor` names the process), then repeat the call."
        )
    if "no such table" in text or "no such column" in text:
        return StoreError(f"{path.name}: {text}; run `workbell migrate`.")
    if "unable to open" in text or "readonly" in text:
        return StoreUnavailable(f"{path}: {text}; check the path and its permissions.")
    if "full" in text or "disk I/O" in text:
        return StoreUnavailable(f"{path}: {text}; free some space or check the disk.")
    return StoreError(f"{path.name}: {text}.")


def wal_reset_bug(version: tuple[int, ...] = sqlite3.sqlite_version_info) -> bool:
    """Whether this SQLite can lose data when a commit and a checkpoint overlap (which our rules prevent)."""
    return version < SAFE and not any(version[:2] == fix[:2] and version >= fix for fix in BACKPORTS)
