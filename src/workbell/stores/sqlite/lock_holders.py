"""Processes that hold the write locks of a SQLite file, found in the kernel's list of locks (/proc/locks).

Nothing is locked or opened for this, so it answers at once, even if a frozen process holds a lock. Two locks:
the turn at writing, a `flock` on a side file among Workbell's own processes (see locks.py); SQLite's own write lock,
bytes of the file of shared memory, which other programs take as well.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from workbell.process.platform import platform

TABLE = Path("/proc/locks")
# Bytes of the -shm file: the write lock, recovery, and the opening of the file. A process that has one of them
# exclusively blocks writers; the bytes between are for readers and checkpoints, which nothing waits for.
WRITE_BYTES = (120, 122, 128)


class LockHolder(NamedTuple):
    """A process that has a lock; `turn`: the turn at writing, else SQLite's own write lock."""

    pid: int
    turn: bool


class _Lock(NamedTuple):
    """A line of the kernel's list."""

    kind: str
    pid: int
    device: str
    inode: int
    first: int
    last: float


def can_read_locks() -> bool:
    """Whether the system has a list of locks."""
    return platform().proc and TABLE.exists()


def side_file(path: Path) -> Path:
    """The file that the turn at writing is a lock of: beside the database itself, also if the path is a link to it."""
    return _beside(path, "-lock")


def _beside(path: Path, ending: str) -> Path:
    real = path.resolve()
    return real.with_name(real.name + ending)


def lock_holders(path: Path) -> list[LockHolder]:
    """The processes that block writers of this database now."""
    shared = _beside(path, "-shm")
    locks = list(_exclusive_locks())
    found = {LockHolder(lock.pid, True) for lock in locks if lock.kind == "FLOCK" and _is_of(lock, side_file(path))}
    for lock in locks:
        bytes_held = any(lock.first <= byte <= lock.last for byte in WRITE_BYTES)
        if lock.kind == "POSIX" and bytes_held and _is_of(lock, shared):
            found.add(LockHolder(lock.pid, False))
    return sorted(found)


def _exclusive_locks() -> Iterator[_Lock]:
    """`1: FLOCK  ADVISORY  WRITE 3875 fe:00:2205362 0 EOF`; those who wait for one have an arrow before the kind."""
    if not can_read_locks():
        return
    try:
        lines = TABLE.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        parts = line.split()
        if len(parts) < 8 or parts[1] == "->" or parts[3] != "WRITE":
            continue
        with suppress(ValueError):
            device, _, inode = parts[5].rpartition(":")
            last = float("inf") if parts[7] == "EOF" else float(parts[7])
            yield _Lock(parts[1], int(parts[4]), device, int(inode), int(parts[6]), last)


def _is_of(lock: _Lock, path: Path) -> bool:
    try:
        about = path.stat()
    except OSError:
        return False
    if lock.inode != about.st_ino or lock.pid <= 0:  # not positive: a process of another namespace
        return False
    # Some file systems have another number here than `stat` says: then what the process has open decides.
    return lock.device == f"{os.major(about.st_dev):02x}:{os.minor(about.st_dev):02x}" or _has_open(lock.pid, path)


def processes_with(path: Path) -> list[int]:
    """Other processes that have a file open, as far as this user can see them."""
    if not platform().proc:
        return []
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return sorted(pid for pid in pids if pid != os.getpid() and _has_open(pid, path))


def _has_open(pid: int, path: Path) -> bool:
    with suppress(OSError):
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                if descriptor.samefile(path):
                    return True
    return False
