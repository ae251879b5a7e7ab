"""Log line of a handler, stored with its run."""

from __future__ import annotations

from datetime import datetime

import msgspec


class LogLine(msgspec.Struct, frozen=True):
    """A log line; lines are numbered within an attempt, from 0."""

    run: str
    attempt: int
    line: int
    at: datetime
    level: str
    message: str
