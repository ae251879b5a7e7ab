"""Backup and restore of a SQLite store.

A backup is one file: a consistent copy that is made while others write. One read transaction lasts from its first page
to its last, so no commit makes SQLite begin anew, and no writer waits; only the log grows meanwhile.

A restore puts a checked copy of a backup in the place of the file, in one move, and renews the incarnation of the
store: processes then know that it is no longer where they have seen it. It needs the store alone: our own processes are
known by their mark on the lock file, also stopped ones, and all others by SQLite's locks.
"""

from __future__ import annotations

import contextlib
import glob
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from workbell.errors import StoreError, StoreUnavailable
from workbell.model.ids import new_id
from workbell.process.identity import process_exists
from workbell.stores import migrate
from workbell.stores.database import Batch, Row
from workbell.stores.sqlite.database import SqliteSession
from workbell.stores.sqlite.dialect import QUERIES
from workbell.stores.sqlite.file import MOMENT, SqliteFile, translation, unusable
from workbell.stores.sqlite.file_guard import FileGuard, read_identity, users_of
from workbell.stores.sqlite.lock_holders import side_file
from workbell.stores.sqlite.locks import FileLock, is_marked_open
from workbell.stores.sqlite.modes import PRIVATE, create_private
from workbell.stores.sqlite.tables import SqliteTables

ENDINGS = ("", "-wal", "-shm", "-journal")  # of the files that SQLite makes of one
PAGES = 1024  # copied between two reports of the progress: 4 MiB

Progress = Callable[[int, int], None]  # pages that are done, of so many


class Backup(NamedTuple):
    """A checked copy of a store."""

    path: Path
    bytes: int
    store_id: str
    schema_version: int


class Restored(NamedTuple):
    """A store that was restored; `before` is the file that was there, if one was."""

    store_id: str
    incarnation: str
    schema_version: int
    before: Path | None


def back_up(file: SqliteFile, target: Path, *, overwrite: bool, report: Progress) -> Backup:
    """Copy the store into a new file, and check the copy. Nothing is left behind if that fails."""
    if target.exists() and not overwrite:
        raise StoreError(f"{target} exists already; choose another name, or give --overwrite.")
    if target.exists() and target.samefile(file.path):
        raise StoreError(f"{target} is the store itself; choose another name.")
    file.ready()
    real = target.resolve()  # a link stays one
    try:
        with _unfinished(real) as part:
            with contextlib.closing(sqlite3.connect(part, isolation_level=None)) as copy:
                with contextlib.closing(file.connect()) as source:
                    _copy(source, copy, report)
                store_id, version = _check(copy, file.path.name)
            _put(part, real, overwrite=overwrite)
    except OSError as error:
        raise unusable(target, error) from error
    except sqlite3.Error as error:
        raise translation(target if _is_full(error) else file.path, error) from error
    return Backup(target, target.stat().st_size, store_id, version)


def restore(path: Path, backup: Path, *, other_store: bool, report: Progress) -> Restored:
    """Put a backup in the place of the store's file; the file that was there stays under another name."""
    if not backup.is_file():
        raise StoreError(f"There is no backup {backup}; name a file that `workbell backup` has made.")
    if path.exists() and path.samefile(backup):
        raise StoreError(f"{backup} is the store itself; name a backup of it.")
    path = path.resolve()  # SQLite keeps the log beside the file itself, also where the path is a link to it
    if not path.parent.is_dir():
        raise StoreError(f"{path}: the folder {path.parent} does not exist; create it, or change the URL.")
    if is_marked_open(side_file(path)):  # before the work, and again after it
        raise in_use(path)
    try:
        with _unfinished(path, like=_model_of(path)) as part:
            with contextlib.closing(sqlite3.connect(part, isolation_level=None)) as copy:
                try:
                    with contextlib.closing(_read_only(backup)) as source:
                        _copy(source, copy, report)
                    store_id, version = _check(copy, backup.name)
                    incarnation = new_id()
                    copy.execute(QUERIES["note_meta"], {"name": "incarnation", "value": incarnation})
                except sqlite3.Error as error:
                    if _is_full(error):
                        raise translation(path, error) from error
                    raise StoreError(f"{backup}: {error}; it is no backup that can be used.") from error
            with _alone(path, store_id, other_store=other_store) as exchange:
                before = exchange(part)
    except OSError as error:
        raise unusable(path, error) from error
    return Restored(store_id, incarnation, version, before)


@contextmanager
def _alone(path: Path, store_id: str, *, other_store: bool) -> Iterator[Callable[[Path], Path | None]]:
    """Keep everybody out of the store; gives the function that exchanges its file, and returns the old one's name."""
    side = side_file(path)
    if is_marked_open(side):
        raise in_use(path)
    fits = _log_fits(path)
    with FileLock(side, like=_model_of(path)) as lock, contextlib.ExitStack() as held:
        if not lock.mark_open(alone=True):
            raise in_use(path)
        if path.exists() and fits:
            found = held.enter_context(_locked(path))
            if found not in (None, store_id) and not other_store:
                raise StoreError(
                    f"{path} is another store than the one that was backed up; check both names, "
                    "or give --other-store to put it there all the same."
                )

        def exchange(part: Path) -> Path | None:
            _sync(part)
            before = _set_aside(path)
            part.replace(path)
            _sync(path.parent)
            FileGuard(path).accept(lock)
            return before

        yield exchange


def _model_of(path: Path) -> Path:
    """The file, or if it is not there its folder, whose owner a new one gets."""
    return path if path.exists() else path.parent


def _is_full(error: sqlite3.Error) -> bool:
    """Whether there is no space for the copy: only that is written."""
    return "is full" in str(error)


def in_use(path: Path) -> StoreUnavailable:
    return StoreUnavailable(f"{path} is in use{users_of(path)}; stop every process of this store, then repeat it.")


def _log_fits(path: Path) -> bool:
    """Whether the log beside the file belongs to it; else neither may be opened by SQLite."""
    try:
        FileGuard(path).before_open()
    except StoreUnavailable:
        return False
    return True


@contextmanager
def _locked(path: Path) -> Iterator[str | None]:
    """Write the log into the file and lock it; gives the identity of its store. A broken file is not locked."""
    address = f"{path.absolute().as_uri()}?mode=rw"
    with contextlib.closing(sqlite3.connect(address, timeout=MOMENT, isolation_level=None, uri=True)) as connection:
        found = None
        try:
            connection.execute("PRAGMA journal_mode = delete").fetchone()  # SQLite does that for a single user only
            connection.execute("BEGIN EXCLUSIVE")
            found = read_identity(connection)
        except sqlite3.DatabaseError as error:
            if "locked" in str(error):
                raise in_use(path) from error
        yield None if found is None else found.store_id


def _set_aside(path: Path) -> Path | None:
    """Give the file a second name, and its log and index another one; each of them if it is there. The log of a file
    that was deleted must go as well: SQLite would apply it to the next one."""
    name = f"{path.name}.before-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}"
    before = path.with_name(name)
    number = 0
    while any(before.with_name(before.name + ending).exists() for ending in ENDINGS):
        number += 1
        before = path.with_name(f"{name}.{number}")
    for ending in ENDINGS[1:]:
        with contextlib.suppress(FileNotFoundError):
            path.with_name(path.name + ending).rename(before.with_name(before.name + ending))
    if not path.exists():
        return None
    try:
        os.link(path, before)  # both names: there is no moment without a file
    except OSError:
        path.rename(before)
    return before


def _copy(source: sqlite3.Connection, copy: sqlite3.Connection, report: Progress) -> None:
    source.execute("BEGIN")
    try:
        source.execute("SELECT 1 FROM sqlite_master").fetchone()  # from here on it sees nothing new
        copy.execute("PRAGMA synchronous = off")  # it is flushed as a whole, at the end
        source.backup(copy, pages=PAGES, progress=lambda _, left, total: report(total - left, total))
    finally:
        source.execute("ROLLBACK")
    copy.execute("PRAGMA journal_mode = delete")  # one file, without a log beside it


def _check(copy: sqlite3.Connection, name: str) -> tuple[str, int]:
    """The identity and schema version of a sound copy."""
    found = copy.execute("PRAGMA integrity_check(3)").fetchall()
    if found != [("ok",)]:
        told = "; ".join(str(row[0]) for row in found)
        raise StoreError(f"{name} is damaged, and was not copied: {told}.")

    def read(batch: Batch) -> list[list[Row]]:
        return [SqliteSession(copy).execute(statement) for statement in batch]

    tables = SqliteTables(read, read)
    if not tables.exists():
        raise StoreError(f"{name} has no tables of Workbell; it is no store.")
    version, _ = tables.version()
    if version >= migrate.OLDEST:  # an older one can be migrated when it is in its place
        tables.check(name)
    return tables.store_id(), version


def _read_only(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", isolation_level=None, uri=True)


@contextmanager
def _unfinished(target: Path, like: Path | None = None) -> Iterator[Path]:
    """A private file beside the target, which goes if it is not moved there."""
    if not target.parent.is_dir():
        raise StoreError(f"{target}: the folder {target.parent} does not exist; create it, or choose another name.")
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    for left in _parts_of_the_dead(target):
        _remove(left)
    create_private(part, like=like)
    try:
        yield part
    finally:
        _remove(part)


def _parts_of_the_dead(target: Path) -> Iterator[Path]:
    """Unfinished copies of processes that were killed; one of them may have had the number of this one."""
    for part in target.parent.glob(f"{glob.escape(target.name)}.*.part"):
        pid = part.name.removeprefix(f"{target.name}.").removesuffix(".part")
        if pid.isdecimal() and (int(pid) == os.getpid() or not process_exists(int(pid))):
            yield part


def _remove(part: Path) -> None:
    for ending in ENDINGS:
        part.with_name(part.name + ending).unlink(missing_ok=True)


def _put(part: Path, target: Path, *, overwrite: bool) -> None:
    _sync(part)
    if overwrite:
        part.replace(target)
    else:
        try:
            os.link(part, target)  # unlike a move, it never replaces a file
        except FileExistsError as error:
            raise _made_meanwhile(target) from error
        except OSError:  # a file system without hard links
            _move_to_free_name(part, target)
    _sync(target.parent)


def _move_to_free_name(part: Path, target: Path) -> None:
    try:
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE))
    except FileExistsError as error:
        raise _made_meanwhile(target) from error
    try:
        part.replace(target)
    except OSError:
        target.unlink()
        raise


def _made_meanwhile(target: Path) -> StoreError:
    return StoreError(f"{target} was made meanwhile; choose another name, or give --overwrite.")


def _sync(path: Path) -> None:
    if os.name == "nt" and path.is_dir():
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
