"""Where the files of the tests lie: in memory, where the system has a place for that with room enough.

SQLite and PostgreSQL wait for the disk at every commit, as they do for users, and the tests commit tens of thousands
of times. A process that is killed loses nothing by it: only a power cut would, and no test cuts the power. With
WORKBELL_SOAK=1 all files are on the disk, with its pauses.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")
ROOM = 4_000_000_000  # bytes; a whole run keeps less than one at a time


def use_memory() -> None:
    """For this process and those it starts; not if somebody has said where temporary files belong."""
    if "TMPDIR" in os.environ or os.environ.get("WORKBELL_SOAK") or not os.access(MEMORY, os.W_OK | os.X_OK):
        return
    if shutil.disk_usage(MEMORY).free >= ROOM:
        os.environ["TMPDIR"] = str(MEMORY)
        tempfile.tempdir = None  # it is asked for again
