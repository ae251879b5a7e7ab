"""Hints across processes: inotify on the write-ahead log, or polling where there is none.

The log file changes with every commit of every process, callers' own included, so nothing has to be sent.
Written here in a few lines because existing file watchers gather changes for 50 ms and more.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

from workbell.process.platform import platform
from workbell.stores.port import StoreWatch

IN_MODIFY = 0x2
PACE = 0.02  # seconds between polls where there is no inotify
COMMIT = 0.03  # seconds that the sync of a commit may take before we read anyway
LOOK = 1.0  # seconds between looks after the file
VERSION_POLL_SECONDS = 0.0003  # between reads of the data version until the commit is done


def watch(path: Path, connection: sqlite3.Connection) -> StoreWatch:
    log = path.with_name(path.name + "-wal")
    if platform().inotify:
        with contextlib.suppress(OSError):
            return InotifyWatch(log, connection)
    return VersionWatch(connection)


class GuardedWatch:
    """A watch that also looks after the file, about once a second, while it waits."""

    def __init__(self, watch: StoreWatch, look: Callable[[], None]) -> None:
        self._watch = watch
        self._look = look

    def wait(self, timeout: float) -> bool:
        end = time.monotonic() + timeout
        while True:
            self._look()
            left = end - time.monotonic()
            if self._watch.wait(max(min(left, LOOK), 0.0)):
                return True
            if left <= LOOK:
                return False

    def interrupt(self) -> None:
        self._watch.interrupt()

    def close(self) -> None:
        self._watch.close()


def _data_version(connection: sqlite3.Connection) -> int:
    """A number that changes with every commit of another connection."""
    return int(connection.execute("PRAGMA data_version").fetchone()[0])


class InotifyWatch:
    """Waits for the log file to change, and then for the commit: the file is written before it is synced."""

    def __init__(self, log: Path, connection: sqlite3.Connection) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._inotify = libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        if self._inotify < 0:
            raise OSError(ctypes.get_errno(), "inotify_init1")
        if libc.inotify_add_watch(self._inotify, os.fsencode(log), IN_MODIFY) < 0:
            os.close(self._inotify)
            raise OSError(ctypes.get_errno(), "inotify_add_watch")
        self._wake_read, self._wake_write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._poll = select.poll()
        self._poll.register(self._inotify, select.POLLIN)
        self._poll.register(self._wake_read, select.POLLIN)
        self._connection = connection
        self._version = _data_version(connection)

    def wait(self, timeout: float) -> bool:
        if not self._poll.poll(timeout * 1000):
            return False
        for descriptor in (self._inotify, self._wake_read):
            try:
                while os.read(descriptor, 4096):
                    pass
            except BlockingIOError:
                pass
        end = time.monotonic() + COMMIT
        while time.monotonic() < end:
            version = _data_version(self._connection)
            if version != self._version:
                self._version = version
                break
            time.sleep(VERSION_POLL_SECONDS)
        return True

    def interrupt(self) -> None:
        os.write(self._wake_write, b".")

    def close(self) -> None:
        for descriptor in (self._inotify, self._wake_read, self._wake_write):
            os.close(descriptor)
        self._connection.close()


class VersionWatch:
    """Watch that polls SQLite's data version, which changes when another connection commits."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._interrupted = False
        self._version = _data_version(connection)

    def wait(self, timeout: float) -> bool:
        end = time.monotonic() + timeout
        while not self._interrupted:
            version = _data_version(self._connection)
            if version != self._version:
                self._version = version
                return True
            left = end - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(PACE, left))
        self._interrupted = False
        return True

    def interrupt(self) -> None:
        self._interrupted = True

    def close(self) -> None:
        self._connection.close()
