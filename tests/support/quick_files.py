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


def use_memory() -> Path | None:
    """For this process and those it starts: the folder of all of them, to be removed at the end.

    Not if somebody has said where temporary files belong. What pytest keeps of tests that have failed lies beside it.
    """
    if "TMPDIR" in os.environ or os.environ.get("WORKBELL_SOAK") or not os.access(MEMORY, os.W_OK | os.X_OK):
        return None
    if shutil.disk_usage(MEMORY).free < ROOM:
        return None
    folder = Path(tempfile.mkdtemp(prefix="workbell-", dir=MEMORY))
    folder.chmod(0o1777)  # PostgreSQL may have to run as another user
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))
    return folder
