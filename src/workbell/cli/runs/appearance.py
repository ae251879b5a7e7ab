"""Formats a run: status with a symbol, progress, duration, and result or error."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from rich.console import Console
from rich.text import Text

from workbell.cli.bell import AnyRun
from workbell.cli.output import LINE, can_draw, one_line, span
from workbell.cli.run_lines import MoveStyle, what_came
from workbell.cli.words import ago, due_in, or_unreadable
from workbell.model.run import Status
from workbell.model.state import Move

STYLES = {
    Status.SCHEDULED: MoveStyle("◷", "z", "cyan", "scheduled"),
    Status.QUEUED: MoveStyle("⋯", ".", "yellow", "queued"),
    Status.RUNNING: MoveStyle("▸", ">", "bold cyan", "running"),
    Status.SUCCEEDED: MoveStyle("✓", "+", "green", "succeeded"),
    Status.FAILED: MoveStyle("✗", "x", "bold red", "failed"),
    Status.CANCELED: MoveStyle("⊘", "o", "magenta", "canceled"),
}
ENDS = {Status.SUCCEEDED: Move.SUCCEED, Status.FAILED: Move.FAIL, Status.CANCELED: Move.CANCEL}


def status_text(run: AnyRun, console: Console) -> Text:
    style = STYLES[run.status]
    word = "stopping" if run.cancel_requested else style.word
    return Text(f"{style.symbol if can_draw(console) else style.plain} {word}", style.style)


def when(run: AnyRun, now: datetime) -> str:
    """The last thing that happened to it, or the next."""
    if run.status is Status.SCHEDULED:
        return due_in(run.scheduled_for, now)
    return ago(run.finished_at or run.started_at or run.created_at, now)


def took(run: AnyRun, now: datetime) -> timedelta | None:
    if run.started_at is None or run.status in (Status.SCHEDULED, Status.QUEUED):
        return None
    return (run.finished_at or now) - run.started_at


def took_text(run: AnyRun, now: datetime) -> str:
    time = took(run, now)
    return "" if time is None else span(time)


def came(run: AnyRun, limit: int = LINE) -> str:
    """In one line: the result, the error, how far it is, or why it waits; or that it cannot be read."""
    if run.unreadable is not None:
        return one_line(or_unreadable(run, ""), limit)
    if run.status.final:
        return what_came(ENDS[run.status], run, limit)
    if run.status is Status.RUNNING:
        return one_line(run.reason or "", limit) if run.cancel_requested else progress_text(run.progress)
    if run.failures and run.error:
        return f"attempt {run.attempt} failed: {one_line(run.error, limit)}"
    return one_line(run.reason or "", limit)


def progress_text(progress: dict[str, Any] | None) -> str:
    """`30 of 120 (25%), reading`."""
    if progress is None:
        return ""
    done, total, message = progress["done"], progress.get("total"), progress.get("message")
    parts = [f"{number(done)} of {number(total)}{_percent(done, total)}" if total is not None else number(done)]
    return ", ".join([*parts, *([one_line(message)] if message else [])])


def number(value: float) -> str:
    return f"{value:,.1f}" if isinstance(value, float) and not value.is_integer() else f"{int(value):,}"


def _percent(done: float, total: float) -> str:
    return f" ({min(done / total, 1):.0%})" if total else ""
