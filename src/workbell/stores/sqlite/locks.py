"""Fair turns at writing: between the threads of a process, and between processes that share the file.

SQLite's own busy handler lets whoever polls luckily go first; a busy writer then starves the others (23,761 commits
against 1 in six seconds were seen). A lock on a side file shares evenly. The kernel drops it when a process dies.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from pathlib import Path
from typing import Any

from workbell.errors import StoreUnavailable

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows: SQLite's own locks alone
    fcntl = None  # type: ignore[assignment]

_HAS_FLOCK = fcntl is not None


class FairLock:
    """A lock that is handed on in the order of asking; lease renewals go to the front."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._held = False
        self._waiting: deque[threading.Lock] = deque()

    def acquire(self, timeout: float, *, first: bool = False) -> bool:
        with self._guard:
            if not self._held:
                self._held = True
                return True
            turn = threading.Lock()
            turn.acquire()
            if first:
                self._waiting.appendleft(turn)
            else:
                self._waiting.append(turn)
        if turn.acquire(timeout=timeout):
            return True
        with self._guard:
            if turn in self._waiting:
                self._waiting.remove(turn)
                return False
        return True  # handed over just as the time ran out

    def release(self) -> None:
        with self._guard:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._held = False


class FileLock:
    """An exclusive lock on a side file, with a deadline.

    `flock` itself cannot be given a time, and polling for it would be unfair again; so where the lock is not free
    at once, a thread of its own waits for it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = self._open()

    def _open(self) -> int:
        return os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)

    def acquire(self, timeout: float) -> None:
        if not _HAS_FLOCK:  # pragma: no cover
            return
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._wait(timeout)

    def _wait(self, timeout: float) -> None:
        got, guard, abandoned = threading.Event(), threading.Lock(), [False]
        descriptor = self._descriptor

        def wait() -> None:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            with guard:
                if abandoned[0]:
                    os.close(descriptor)
                else:
                    got.set()

        threading.Thread(target=wait, name="workbell-file-lock", daemon=True).start()
        if got.wait(timeout):
            return
        with guard:
            if got.is_set():
                return
            abandoned[0] = True
            self._descriptor = self._open()
        raise StoreUnavailable(
            f"{self._path.name}: another process held the write lock for over {timeout:g} s; "
            "see which one is stopped or stuck (`workbell doctor`)."
        )

    def release(self) -> None:
        if _HAS_FLOCK:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        os.close(self._descriptor)

    def __enter__(self) -> FileLock:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()
