"""Progress and log lines that an agent reports, cleaned for the store."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime

from workbell.errors import InvalidOption
from workbell.handlers.run_logger import LETTERS, LEVEL_LETTERS, LINES
from workbell.model.agent import MOST_LINES
from workbell.model.clock import aware
from workbell.model.json_text import clean_text, encode
from workbell.model.log_line import LogLine
from workbell.model.run import Run
from workbell.stores.port import Store
from workbell.wire.agents import AgentLogLine

MESSAGE = 1000  # characters


def progress_text(done: float | None, total: float | None, message: str | None) -> str | None:
    """Progress as stored text; None if the report has none."""
    if done is None and message is None:
        return None
    progress = {
        "done": 0 if done is None else _amount("done", done),
        "total": None if total is None else _amount("total", total),
        "message": None if message is None else clean_text(message, MESSAGE),
    }
    return encode("progress", progress)


def _amount(name: str, value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise InvalidOption(f"progress: {name} must be a number from 0 on, got {value!r}.")
    return value


def log_lines(store: Store, run: Run, lines: Sequence[AgentLogLine], now: datetime) -> list[LogLine]:
    """Log lines to store; an agent's times are clamped to the span of the attempt."""
    if len(lines) > MOST_LINES:
        raise InvalidOption(f"logs: {len(lines):,} lines are too many for one post; send {MOST_LINES:,} at the most.")
    following = 0
    if any(line.line is None for line in lines):
        known = store.logs.list(run.id, after=(run.attempt, -1), limit=LINES + 1)
        following = max((line.line for line in known if line.attempt == run.attempt), default=-1) + 1
    stored = []
    for given in lines:
        number = following if given.line is None else given.line
        following = max(following, number + 1)
        if not 0 <= number < LINES:
            continue
        message, level = clean_text(given.message, LETTERS), clean_text(given.level.upper(), LEVEL_LETTERS)
        stored.append(LogLine(run.id, run.attempt, number, _time(given.at, run, now), level, message))
    return stored


def _time(at: datetime | None, run: Run, now: datetime) -> datetime:
    if at is None:
        return now
    return min(max(aware("at", at), run.started_at or now), now)
