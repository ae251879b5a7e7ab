"""Forks: SQLite's locks do not survive one, so files are closed before it and opened again on both sides.

A child that inherits an open file takes its parent's locks for its own and holds none in truth; the parent, closing
the file, then deletes the log under it, and what the child commits is lost (seen). Where a file cannot be closed,
because an engine runs or somebody is in the middle of a call, the child is refused instead.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Protocol
from weakref import WeakSet

from workbell.errors import StoreError


class Forked(Protocol):
    """A file that can be open when its process is forked."""

    path: Path

    def close_for_fork(self) -> None:
        """Close everything, if nobody is using it."""

    def wake_in_child(self) -> bool:
        """Start afresh; whether the file was still open when the process was forked."""


files: WeakSet[Forked] = WeakSet()
opening = threading.Lock()  # held across a fork, so that nothing is opened in between
_carried: set[tuple[int, int]] = set()


def check(path: Path) -> None:
    """Raise if this process has inherited the file in use."""
    if _carried and path.exists() and _identity(path) in _carried:
        raise StoreError(
            f"{path.name}: this process was forked while its parent was using the file, and SQLite does not allow "
            "that; fork before Workbell runs, or start the process with multiprocessing's spawn method."
        )


def _identity(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


def _before() -> None:
    opening.acquire()
    for file in list(files):
        file.close_for_fork()


def _in_parent() -> None:
    opening.release()


def _in_child() -> None:
    global opening
    opening = threading.Lock()
    for file in list(files):
        if file.wake_in_child() and file.path.exists():
            _carried.add(_identity(file.path))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
