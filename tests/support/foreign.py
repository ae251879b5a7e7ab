"""Files that somebody else could have written, whoever runs the tests."""

from __future__ import annotations

import os
from pathlib import Path

NOBODY = 65534
IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


def hand_over(path: Path) -> str:
    """Make a file or folder another user's: by its owner where that is allowed, else by its mode; the word for it."""
    if IS_ROOT:
        os.chown(path, NOBODY, NOBODY)
        return f"uid {NOBODY}"
    path.chmod(path.stat().st_mode | 0o002)
    return "everybody"


def take_back(path: Path) -> None:
    if IS_ROOT:
        os.chown(path, 0, 0)
    path.chmod(path.stat().st_mode & ~0o022)
