"""File modes: new files are for their owner alone, and existing ones stay as they are.

SQLite gives `-wal` and `-shm` the mode of the database file, and so do we with the lock file: a group that may use the
database needs all of them.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

PRIVATE = 0o600


def create_private(path: Path, *, like: Path | None = None) -> None:
    """Make an empty file, unless it is there; with the mode of another one if that is named, and for root its owner.

    `like` may be a folder: then only its owner counts.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE)
    except FileExistsError:
        return
    try:
        if like is not None and hasattr(os, "geteuid"):
            about = like.stat()
            if not stat.S_ISDIR(about.st_mode):
                os.fchmod(descriptor, stat.S_IMODE(about.st_mode) & 0o666)
            if os.geteuid() == 0:
                os.fchown(descriptor, about.st_uid, about.st_gid)
    finally:
        os.close(descriptor)
