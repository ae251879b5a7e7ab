"""Lock findings of the doctor: who blocks whom on PostgreSQL, and which process has a SQLite file's write lock."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from workbell.doctor.finding import Finding
from workbell.doctor.spans import span
from workbell.errors import StoreUnavailable
from workbell.process.identity import STOPPED, process_state, process_title
from workbell.stores.port import Store
from workbell.stores.postgres import sessions
from workbell.stores.postgres.sessions import Blocker, SessionAbout
from workbell.stores.sql_store import SqlStore
from workbell.stores.sqlite.lock_holders import LockHolder, can_read_locks, lock_holders, side_file
from workbell.stores.sqlite.locks import FileLock
from workbell.stores.sqlite.store import SqliteStore

MOST = 20  # findings of one kind that are listed one by one
LONG = 1.0  # seconds that a running process may have SQLite's write lock
PACE = 0.05  # seconds between two reads of the lock holders


def check_locks(store: Store, _numbers: dict[str, Any]) -> Iterator[Finding]:
    if isinstance(store, SqliteStore):
        yield from _sqlite(store.file.path)
    elif isinstance(store, SqlStore) and store.engine == "postgres":
        yield from _postgres(store)


# PostgreSQL


def _postgres(store: SqlStore) -> Iterator[Finding]:
    blocking = sessions.blockers(store.database)
    for blocker in blocking[:MOST]:
        yield _blocked(blocker)
    reported = {blocker.session.pid for blocker in blocking if blocker.session is not None}
    idle = [session for session in sessions.idle_transactions(store.database) if session.pid not in reported]
    for session in idle[:MOST]:
        text = f"session {session} {_doing(session)} and has rows of Workbell's tables locked"
        yield Finding("note", "open transaction", f"{text}; {_statement(session)}", _end(session))


def _blocked(blocker: Blocker) -> Finding:
    count = len(blocker.waiting)
    longest = blocker.waiting[0]
    who = f"{longest.session}, for {_span(longest.seconds)} with `{longest.session.statement}`"
    held_up = f"holds up session {who}" if count == 1 else f"holds up {count:,} sessions, among them {who}"
    if blocker.session is None:
        remedy = "see pg_prepared_xacts, then COMMIT PREPARED or ROLLBACK PREPARED."
        return Finding("risk", "blocked", f"a prepared transaction {held_up}", remedy)
    session = blocker.session
    text = f"session {session} {_doing(session)} and {held_up}; {_statement(session)}"
    return Finding("risk", "blocked", text, _end(session))


def _doing(session: SessionAbout) -> str:
    if session.state is None:
        return "does what is not shown to this user (GRANT pg_monitor TO it)"
    if session.state.startswith("idle in transaction"):
        return f"has been idle in a transaction for {_span(session.seconds)}"
    return f"has been {session.state} for {_span(session.seconds)}"


def _statement(session: SessionAbout) -> str:
    return f"its last statement: `{session.statement}`"


def _end(session: SessionAbout) -> str:
    return f"end its transaction, or the session: SELECT pg_terminate_backend({session.pid})."


def _span(seconds: float) -> str:
    return span(timedelta(seconds=seconds))


# SQLite


def _sqlite(path: Path) -> Iterator[Finding]:
    if not can_read_locks():
        yield from _somebody(path)
        return
    for pid in _stuck(path):
        state = process_state(pid)
        if state in STOPPED:
            text = f"{_process(pid)} has the write lock of {path.name} and is stopped (state {state}): nobody can write"
            yield Finding("risk", "write lock", text, f"let it go on (kill -CONT {pid}) or end it (kill -KILL {pid}).")
        else:
            text = f"{_process(pid)} has had the write lock of {path.name} for over {LONG:g} s: nobody else can write"
            yield Finding("risk", "write lock", text, f"end its transaction, or the process (kill -TERM {pid}).")


def _stuck(path: Path) -> list[int]:
    """Processes that hold the lock for long: stopped ones, and those that had it at every read for a while, in which
    nothing was committed."""
    log, end = path.with_name(path.name + "-wal"), time.monotonic() + LONG
    before, holders = _mark(log), set(lock_holders(path))
    while holders:
        time.sleep(PACE)
        holders &= set(lock_holders(path))
        stopped = [holder for holder in holders if process_state(holder.pid) in STOPPED]
        if stopped or (time.monotonic() >= end and _mark(log) == before):
            return sorted({holder.pid for holder in _to_blame(holders)})
        if _mark(log) != before:
            return []
    return []


def _to_blame(holders: set[LockHolder]) -> set[LockHolder]:
    """The process to blame: the holder of SQLite's own lock, unless the holder of our file lock is stopped itself."""
    stopped = {holder for holder in holders if process_state(holder.pid) in STOPPED}
    return stopped or {holder for holder in holders if not holder.turn} or holders


def _mark(log: Path) -> tuple[int, int]:
    """Changes with every commit."""
    try:
        about = log.stat()
    except OSError:
        return 0, 0
    return about.st_size, about.st_mtime_ns


def _process(pid: int) -> str:
    title = process_title(pid)
    return f"process {pid} ({title})" if title else f"process {pid}"


def _somebody(path: Path) -> Iterator[Finding]:
    """Where the system does not name lock holders: whether the lock can be taken."""
    lock = FileLock(side_file(path), like=path)
    try:
        lock.acquire(LONG)
    except StoreUnavailable:
        text = f"somebody has had the write lock of {path.name} for over {LONG:g} s, and this system does not say who"
        yield Finding("risk", "write lock", text, f"`lsof {side_file(path)}` names the process.")
    else:
        lock.release()
    finally:
        lock.close()
