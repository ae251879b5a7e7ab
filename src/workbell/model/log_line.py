"""A line that a handler logged, kept with its run."""

from __future__ import annotations

from datetime import datetime

import msgspec


class LogLine(msgspec.Struct, frozen=True):
    """Lines are numbered within an attempt, from 0."""

    run: str
    attempt: int
    line: int
    at: datetime
    level: str
    message: str
