"""The guard of a SQLite file: notices that it was deleted, replaced, cut short or overwritten, or lost its log.

SQLite notices none of this. It goes on in a file that has no name any more: commits return, and vanish with the
process.

* After each commit, before it is acknowledged, the guard compares the file at the path with the one that is open: one
  `stat`, 4.5 µs where it is called after a flush, beside 127 µs for an enqueue. It does the same before each new
  connection, and once a second while the process is idle.
* With it, but at most every 20 ms, it compares the log and its index. After a `stat` of the log Linux notes the exact
  time of the next write to it, and the flush of that takes 35 µs longer.
* A checkpoint changes size and time of the file. Then the guard reads Workbell's identity and its count of checkpoints
  from the file itself, past the log (50 µs). A count that went back is older content in the same file, as after `cp`.
* A file that cannot be read past the log may be in the middle of another program's checkpoint, which takes seconds
  after VACUUM. It counts as overwritten once it has stayed so, unchanged, for a while.
* Never a plain `open` of the file: closing it would drop the locks that SQLite has on it. SQLite's own connections
  keep a descriptor as long as somebody in the process has locks.
* The lock file notes which file it is for, and that a store was lost. So a process that starts later neither makes a
  second store, nor applies the log of one file to another. A file that was removed often leaves its number to the next
  one, so the note also says which store the file is, and how many of its checkpoints are on the disk: a file with fewer
  of them is an older copy.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Iterable
from enum import Enum
from pathlib import Path
from typing import NamedTuple, NoReturn

import msgspec

from workbell.errors import StoreUnavailable
from workbell.stores.sqlite.dialect import QUERIES
from workbell.stores.sqlite.lock_holders import processes_with, side_file
from workbell.stores.sqlite.locks import FileLock, is_marked_open

log = logging.getLogger("workbell.store")

IDLE = 1.0  # seconds between looks while nothing is written
LOG_PACE = 0.02  # seconds between looks at the log while something is
TRIES, PAUSE = 10, 0.05  # reading the file beside a checkpoint of another process; seconds between tries
AT_REST = 2.0  # seconds that a file which cannot be read must stay as it is to count as overwritten
LOG_STARTS = (b"", b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")  # the first bytes of a log: none yet, or by byte order
NOTE_BYTES = 4096  # the largest note that is read


class Loss(Enum):
    """How a store was lost under the process that has it open."""

    DELETED = "was deleted"
    REPLACED = "was replaced by another file"
    TRUNCATED = "was cut short"
    OVERWRITTEN = "was overwritten with other or older content, or is damaged"
    LOG_REMOVED = "lost its log: the -wal or -shm file beside it was removed or emptied"


# SQLite would write the rest of the log into the file when the last connection closes, over what was put there.
NEVER_CLOSED = (Loss.TRUNCATED, Loss.OVERWRITTEN)
CONTENT_LOST = tuple(loss.value for loss in NEVER_CLOSED)


class Identity(NamedTuple):
    """What Workbell's own table says of the store. `restore` renews the incarnation; the count only grows."""

    store_id: str
    incarnation: str
    checkpoints: int

    def is_before(self, other: Identity) -> bool:
        return self[:2] == other[:2] and self.checkpoints < other.checkpoints


class Seen(NamedTuple):
    """The file as `stat` showed it."""

    device: int
    inode: int
    size: int
    changed: int  # ns: the content
    altered: int  # ns: anything, the number of its names included

    @classmethod
    def of(cls, about: os.stat_result) -> Seen:
        return cls(about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns)


class _Note(msgspec.Struct, omit_defaults=True):
    """Content of the lock file. The inodes of a copied folder are others, and say nothing then."""

    file: int = 0
    lock: int = 0
    log: int = 0
    lost: str = ""
    store: str = ""
    checkpoints: int = 0  # that are in the file, also after a power cut
    begun: int = 0  # how often the log had been begun anew by then


class FileGuard:
    """What this process knows of one file; it stays when the file is closed and opened again, as for a fork."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.loss: Loss | None = None
        self._error: StoreUnavailable | None = None
        self._identity: Identity | None = None  # when the file was closed, or opened last
        self._was_open = False
        self._is_open = False
        self._file = self._log = self._index = ""
        self._seen: Seen
        self._in_file: Identity | None = None  # as read past the log
        self._had_log = True  # when it was opened
        self._on_disk = 0  # checkpoints that are in the file, also after a power cut
        self._log_seen = self._index_seen = (0, 0)
        self._log_descriptor = -1
        self._next_look = self._next_log_look = 0.0
        self._torn: tuple[Seen, float] | None = None  # a file that cannot be read, and since when it is so
        self.start_afresh()

    def start_afresh(self) -> None:
        """Also in a forked child, where nobody would release the lock of a thread that was looking."""
        # Of two threads the slower one would compare what it has read before with what the other has noted since.
        self._looking = threading.Lock()

    # Before the file is opened

    def before_open(self) -> None:
        """Raise if opening would make a second store, or would apply or delete a log that is not for this file."""
        if self._error is not None:
            raise self._error
        wal = _log_of(self.path)
        if not self.path.exists():
            traces = list(self._traces(wal))
            if traces and not self.path.exists():  # else another process is just making it
                self._refuse(f"is missing, and {traces[0]}")
            return
        side, index = side_file(self.path), wal.with_name(self.path.resolve().name + "-shm")
        if is_marked_open(side):
            if not (wal.exists() and index.exists()) and is_marked_open(side):  # else the last one has just closed it
                self._refuse(f"is in use{users_of(self.path)}, and its log was removed meanwhile")
            lost = _read_note(side).lost
            if lost:
                self._refuse(f"{lost} while it was in use{users_of(self.path)}")
        self._had_log = _size(wal) > 0
        if not self._had_log:
            return
        if _size(self.path) == 0:  # SQLite would delete the log
            self._refuse("is empty, and its log is not")
        note = _read_note(side)  # only now: who opens a file writes its note before it writes to the log
        if not note.lock or note.lock != _inode(side):
            return  # Workbell has not opened the file yet, or its folder was copied
        if note.file != _inode(self.path) and note.log != _inode(wal):
            return  # both were put there together
        if note.file != _inode(self.path):
            self._refuse("is not the file that the log beside it belongs to")
        content = _read_past_log(self.path)
        if content is not None and note.store not in ("", content.store_id):
            self._refuse("is another store than the log beside it belongs to")
        if content is not None and content.checkpoints < note.checkpoints and _begun(wal) >= note.begun:
            self._refuse("is older than the log beside it, which belongs to a file with more checkpoints")
        if note.lost in CONTENT_LOST or (note.lost == Loss.LOG_REMOVED.value and note.log != _inode(wal)):
            self._refuse(f"{note.lost} while it was in use, and the log that is there does not fit it")

    def _traces(self, wal: Path) -> Iterable[str]:
        if self._was_open:
            yield "this process has used the store that was there"
        if wal.exists():
            yield f"its log {wal.name} is there"
        if is_marked_open(side_file(self.path)):
            yield f"a store that was there is in use{users_of(self.path)}"
        lost = _read_note(side_file(self.path)).lost
        if lost:
            yield f"the store that was there {lost} while it was in use"

    def _refuse(self, why: str) -> NoReturn:
        name = self.path.name
        raise StoreUnavailable(
            f"{self.path} {why}. Stop every process of this store, put the file back or run `workbell restore FILE`, "
            f"and start again. To go on without what is lost, move {name}-wal, {name}-shm and {name}-lock away first."
        )

    # While it is open

    def opened(self, before: os.stat_result, connection: sqlite3.Connection, lock: FileLock) -> None:
        """Note what was opened; `before`: the file a moment before that."""
        self._file = os.path.abspath(self.path)  # noqa: PTH100 - a string: it is used with every commit
        self._log = str(_log_of(Path(self._file)))
        self._index = self._log.removesuffix("-wal") + "-shm"
        about = os.stat(self._file)  # noqa: PTH116
        if not os.path.samestat(before, about):
            raise StoreUnavailable(f"{self.path} was replaced just now, while it was being opened; try again.")
        self._seen = Seen.of(about)
        self._log_seen, self._index_seen = _number(self._log), _number(self._index)
        self._in_file = self._read_file()
        found = read_identity(connection)
        if self._identity is not None and found is not None:
            if found.store_id != self._identity.store_id or found.is_before(self._identity):
                self._is_open = True
                self._lose(Loss.REPLACED)
            if found.incarnation != self._identity.incarnation:
                log.warning("%s was restored from a backup while this process did not have it open", self.path)
        self._identity = found
        if hasattr(os, "pread"):
            self._log_descriptor = os.open(self._log, os.O_RDONLY | os.O_CLOEXEC)
        if self._in_file is not None:
            # Without a log all of it is on the disk. Else an older copy may have been put there while there was none.
            noted = self._in_file.checkpoints if not self._had_log else self._noted_checkpoints(lock)
            self._on_disk = min(noted, self._in_file.checkpoints)
        lock.write_note(self._note(lock, "", self._on_disk))
        self._was_open = self._is_open = True
        self._next_look = time.monotonic() + IDLE

    def checkpointed(self, connection: sqlite3.Connection, lock: FileLock) -> None:
        """Note that all of the log is in the file, and on the disk: within the turn at writing."""
        found = read_identity(connection)
        if found is not None and self.loss is None and found.checkpoints != self._on_disk:
            self._identity, self._on_disk = found, found.checkpoints
            with contextlib.suppress(OSError):  # the commits are safe without it
                self._write_note(lock)

    def accept(self, lock: FileLock) -> None:
        """Note in the lock file that the file that is there now is right, whatever was lost before."""
        lock.write_note(msgspec.json.encode(_Note(_inode(self.path), lock.inode())))

    def closing(self, connection: sqlite3.Connection) -> None:
        """Remember which store it is, to compare when it is opened again. From now on the log may go."""
        if self.loss is None:
            with contextlib.suppress(sqlite3.Error):
                self._identity = read_identity(connection) or self._identity
        self.forget()

    def forget(self) -> None:
        self._is_open = False
        descriptor, self._log_descriptor = self._log_descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def check(self) -> None:
        """Raise if the store was lost: behind each commit, before it is acknowledged."""
        if self._error is not None:
            raise self._error
        try:
            file = os.stat(self._file)  # noqa: PTH116 - a quarter of the time of Path.stat
        except OSError as error:
            self._lose_missing(error)
            return
        seen = self._seen
        if (
            file.st_ino != seen.inode
            or file.st_mtime_ns != seen.changed
            or file.st_size != seen.size
            or file.st_dev != seen.device
        ):
            self._look_closer()
        if time.monotonic() >= self._next_log_look:
            self._check_log()

    def _log_begins_well(self) -> bool:
        """A log that was emptied begins with zeros after the next commit, which is written where the last one ended."""
        descriptor = self._log_descriptor
        try:
            return descriptor < 0 or os.pread(descriptor, 4, 0) in LOG_STARTS
        except OSError:  # closed meanwhile by another thread
            return False

    def _check_log(self) -> None:
        now = time.monotonic()
        self._next_look, self._next_log_look = now + IDLE, now + LOG_PACE
        try:
            if _number(self._log) != self._log_seen or _number(self._index) != self._index_seen:
                self._lose(Loss.LOG_REMOVED)
        except OSError as error:
            self._lose_missing(error)
        if not self._log_begins_well():
            self._lose(Loss.LOG_REMOVED)

    def check_now_and_then(self) -> None:
        """The same, about once a second."""
        if self._error is not None:
            raise self._error
        if time.monotonic() >= self._next_look:
            self.check()

    def check_all(self) -> None:
        """The same with all of it: before each new connection."""
        self._next_log_look = 0.0
        self.check()

    def check_after(self, error: sqlite3.Error) -> None:
        """The same because SQLite reports an error, which may come from a loss. It reads too few bytes from a log only
        if somebody has cut that."""
        self.check_all()
        name = getattr(error, "sqlite_errorname", "")
        if name == "SQLITE_IOERR_SHORT_READ":
            self._lose(Loss.LOG_REMOVED)
        if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):  # closing would write the log over what is there
            self._lose(Loss.OVERWRITTEN)

    def is_due(self) -> bool:
        """Whether the last look is a second ago, and nothing is known to be lost."""
        return self._error is None and time.monotonic() >= self._next_look

    def _lose_missing(self, error: OSError) -> None:
        if not isinstance(error, FileNotFoundError | NotADirectoryError):
            raise StoreUnavailable(f"{self.path}: {error.strerror}; can this user still see the folder?") from error
        self._lose(Loss.LOG_REMOVED if os.path.exists(self._file) else Loss.DELETED)  # noqa: PTH110

    def _look_closer(self) -> None:
        with self._looking:
            try:
                found = Seen.of(os.stat(self._file))  # noqa: PTH116 - again: another thread may have looked meanwhile
            except OSError as error:
                self._lose_missing(error)
                return
            if found != self._seen:
                self._compare(found)

    def _compare(self, found: Seen) -> None:
        is_shorter = found.size < self._seen.size
        content = self._read_file(TRIES if is_shorter else 1, strictly=is_shorter)
        loss = what_happened(self._seen, found, self._in_file, content)
        if loss is Loss.OVERWRITTEN and content is None and not self._is_at_rest(found):
            return  # seen again behind the next commit, or within a second
        if loss is not None:
            self._lose(loss)
        if found[:2] != self._seen[:2]:  # the file system gave it another number, and probably its log too
            self._log_seen, self._index_seen = _number(self._log), _number(self._index)
        self._seen, self._torn = found, None
        self._in_file = content or self._in_file

    def _is_at_rest(self, found: Seen) -> bool:
        """Whether a file that cannot be read has stayed as it is: then no checkpoint is under way."""
        now = time.monotonic()
        if self._torn is None or self._torn[0] != found:
            self._torn = found, now
        return now - self._torn[1] >= AT_REST

    def _read_file(self, tries: int = 1, *, strictly: bool = False) -> Identity | None:
        """The identity in the file itself. A checkpoint that was killed may have left it shorter than its header says;
        that is only wrong (`strictly`) where it is shorter than before."""
        for again in range(tries):
            if again:
                time.sleep(PAUSE)
            with contextlib.suppress(sqlite3.Error):
                return _read_content(Path(self._file), strictly=strictly)
            if self._in_file is None:
                break
        return None

    def _lose(self, loss: Loss) -> None:
        """Refuse everything from now on, and say so: here once, and in the lock file for those who start later."""
        if not self._is_open:  # another thread has closed it meanwhile, and SQLite has removed the log
            return
        error = StoreUnavailable(
            f"{self.path} {loss.value} while this process was using it, so nothing is written any more. Stop every "
            "process of this store, put the file back or run `workbell restore FILE`, and start again."
        )
        if self.loss is None:
            self.loss, self._error = loss, error
            log.error("%s What was committed last may be lost.", error)
            with contextlib.suppress(OSError):
                self._note_loss(loss)
        raise error

    def _note_loss(self, loss: Loss) -> None:
        if _read_note(side_file(self.path)).file in (
            0,
            self._seen.inode,
        ):  # else somebody has begun another store there
            with FileLock(side_file(self.path)) as lock:
                self._write_note(lock, loss.value)

    def _write_note(self, lock: FileLock, lost: str = "") -> None:
        lock.write_note(self._note(lock, lost, max(self._on_disk, self._noted_checkpoints(lock))))

    def _note(self, lock: FileLock, lost: str, checkpoints: int) -> bytes:
        store = "" if self._identity is None else self._identity.store_id
        return msgspec.json.encode(
            _Note(self._seen.inode, lock.inode(), self._log_seen[1], lost, store, checkpoints, _begun(Path(self._log)))
        )

    def _noted_checkpoints(self, lock: FileLock) -> int:
        """As another process may have noted them of this file."""
        note = _read_note(side_file(self.path))
        return note.checkpoints if (note.file, note.lock) == (self._seen.inode, lock.inode()) else 0


def what_happened(before: Seen, found: Seen, content_before: Identity | None, content: Identity | None) -> Loss | None:
    """What became of a file that looks different from before. Nothing, if only a checkpoint or VACUUM wrote to it.

    A file system may change the numbers of its files. But only a file that was never touched keeps all its times.
    """
    if found[:2] != before[:2]:
        same = found[2:] == before[2:] and content == content_before
        return None if same else Loss.REPLACED
    if content is None:
        if found.size < before.size:
            return Loss.TRUNCATED
        return None if content_before is None else Loss.OVERWRITTEN
    if content_before is None:
        return None
    is_ours = content[:2] == content_before[:2] and content.checkpoints >= content_before.checkpoints
    return None if is_ours else Loss.OVERWRITTEN


def _read_past_log(path: Path) -> Identity | None:
    """The identity in the file itself; none, too, if a checkpoint was under way when its process was killed."""
    with contextlib.suppress(sqlite3.Error):
        return _read_content(path.absolute(), strictly=False)
    return None


def _read_content(path: Path, *, strictly: bool) -> Identity | None:
    with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as past:
        if not strictly:
            past.execute("PRAGMA writable_schema = on")
        return read_identity(past)


def read_identity(connection: sqlite3.Connection) -> Identity | None:
    """The identity of the store, or none where there are no tables yet."""
    try:
        found = dict(connection.execute(QUERIES["store_identity"]).fetchall())
    except sqlite3.OperationalError as error:
        if "no such table" in str(error):
            return None
        raise
    if "store_id" not in found:
        return None
    return Identity(found["store_id"], found.get("incarnation", ""), int(found.get("checkpoints", 0)))


def _log_of(path: Path) -> Path:
    """SQLite puts the log beside the file itself, also where the path is a link to it."""
    real = path.resolve()
    return real.with_name(real.name + "-wal")


def _number(path: str) -> tuple[int, int]:
    about = os.stat(path)  # noqa: PTH116
    return about.st_dev, about.st_ino


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return 0


def _begun(log: Path) -> int:
    """How often a log was begun anew since it was made, as its first bytes say. An older one that was put back together
    with its file has a lower number."""
    try:
        with log.open("rb") as content:
            return int.from_bytes(content.read(16)[12:], "big")
    except FileNotFoundError:
        return 0


def users_of(path: Path) -> str:
    """Who has the store open, as far as it can be seen from here."""
    pids = processes_with(side_file(path))
    return f" by process {', '.join(map(str, pids))}" if pids else " by another process"


def _read_note(path: Path) -> _Note:
    try:
        with path.open("rb") as file:
            return msgspec.json.decode(file.read(NOTE_BYTES), type=_Note)
    except (OSError, msgspec.MsgspecError):
        return _Note()
