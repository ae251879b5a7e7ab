"""Reload of a job file: how it went, and which jobs the file has."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import NamedTuple


class ReloadOutcome(StrEnum):
    LOADED = "loaded"  # new, or without problems again
    CHANGED = "changed"
    REMOVED = "removed"
    FAILED = "failed"  # its last good version is used on, if there is one


class Reload(NamedTuple):
    """Entry about one file: its reload, or one of its problems."""

    number: int  # counted from the start of the process
    at: datetime
    path: str
    outcome: ReloadOutcome
    message: str | None = None
    line: int | None = None
    jobs: tuple[str, ...] = ()
    standing: bool = False  # the problem is still there
