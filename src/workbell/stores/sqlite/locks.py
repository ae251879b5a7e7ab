"""The file lock: fair turns at writing between processes that share the file.

SQLite's own busy handler lets the luckiest poller go first; a busy writer then starves the others (23,761 commits
against 1 in six seconds were seen). A lock on a side file shares evenly. The kernel drops it when a process dies.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

from workbell.errors import StoreUnavailable
from workbell.process.platform import platform
from workbell.stores.sqlite.modes import PRIVATE, create_private

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]


class FileLock:
    """An exclusive lock on a side file, with a deadline.

    `flock` itself cannot be given a time, and polling for it would be unfair again; so where the lock is not free
    at once, a thread of its own waits for it. On a platform without `flock` it is always free: writers then meet at
    SQLite's own lock, where turns are not fair.
    """

    def __init__(self, path: Path, *, like: Path | None = None) -> None:
        self._path = path
        self._has_flock = platform().flock
        create_private(path, like=like)
        self._descriptor = self._open()

    def _open(self) -> int:
        return os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE)

    def acquire(self, timeout: float) -> None:
        """Take the lock. The caller must call `release` on every way out, also after an interrupt."""
        if not self._has_flock:
            return
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._wait(timeout)

    def _wait(self, timeout: float) -> None:
        waiting = _Waiting(self._open())
        with waiting.here:
            threading.Thread(target=waiting.run, name="workbell-file-lock", daemon=True).start()
            if waiting.got.wait(timeout):
                before = self._descriptor
                self._descriptor = waiting.descriptor
                waiting.accepted = True
                os.close(before)
                return
        raise StoreUnavailable(
            f"{self._path.name}: another process held the write lock for over {timeout:g} s; "
            "see which one is stopped or stuck (`workbell doctor`)."
        )

    def release(self) -> None:
        if self._has_flock:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        os.close(self._descriptor)

    def __enter__(self) -> FileLock:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


class _Waiting:
    """A thread's wait for the lock, on a descriptor of its own.

    The caller holds `here` while it wants the lock. If it has left without it, because of the deadline or of an
    interrupt, the lock is given back as soon as it comes: else it would block every writer.
    """

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.here = threading.Lock()
        self.got = threading.Event()
        self.accepted = False

    def run(self) -> None:
        fcntl.flock(self.descriptor, fcntl.LOCK_EX)
        self.got.set()
        with self.here:
            if not self.accepted:
                # Not only closed: a child that was forked meanwhile would still hold the lock.
                fcntl.flock(self.descriptor, fcntl.LOCK_UN)
                os.close(self.descriptor)
