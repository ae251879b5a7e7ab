"""Log lines about runs, in each process that has an engine: for every move of a run, with its outcome and duration;
and in a service for every job file that is taken over or goes away."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from workbell.logs.facts import EVENT, STACK_LIMIT, run_facts, shown
from workbell.model.error_text import read_error
from workbell.model.run import Run
from workbell.model.state import CRASHED, Move
from workbell.notices.bus import Bus, Notice

if TYPE_CHECKING:
    from workbell.job_files import FolderChange

log = logging.getLogger("workbell.runs")
files_log = logging.getLogger("workbell.jobs")

RESULT_LIMIT = 200


class RunLogLine(NamedTuple):
    level: int
    event: str


LINES = {
    Move.START: RunLogLine(logging.DEBUG, "run started"),
    Move.SUCCEED: RunLogLine(logging.INFO, "run succeeded"),
    Move.SNOOZE: RunLogLine(logging.INFO, "run snoozed"),
    Move.RELEASE: RunLogLine(logging.INFO, "run handed back"),
    Move.CANCEL: RunLogLine(logging.INFO, "run canceled"),
    Move.RETRY: RunLogLine(logging.WARNING, "run failed, and will be tried again"),
    Move.LOSE: RunLogLine(logging.WARNING, "run lost its worker"),
    Move.FAIL: RunLogLine(logging.ERROR, "run failed"),
}


FAILURES = (Move.RETRY, Move.FAIL, Move.LOSE)


def log_all(bus: Bus) -> Callable[[], None]:
    """Log the runs of this process from now on, at the level in force; call the result to stop."""
    return bus.subscribe(log_runs, logged_moves())


def log_runs(notices: Sequence[Notice]) -> None:
    """Listener of the bus. Log lines below the level in force cost a check of the level and nothing more."""
    for notice in notices:
        line = _line_of(notice)
        if line is not None and log.isEnabledFor(line.level):
            log.handle(_record(notice, line))


def _record(notice: Notice, line: RunLogLine) -> logging.LogRecord:
    """The job is part of the template, by which error trackers group records without an exception.

    `exc_text` is what formatters print for `exc_info`: the error text, in which passwords of URLs are hidden.
    """
    facts, error = _facts(notice), notice.raised
    came, trace = facts.get("result") or _whole_error(notice) or facts.get("reason") or "", ""
    if error is not None:
        came, _, trace = came.partition("\n")
    template = f"{line.event}: {facts['job'].replace('%', '%%')} (run %s, attempt %d)%s"
    said = (facts["run_id"], facts["attempt"], f": {came}" if came else "")
    caught = None if error is None else (type(error), error, error.__traceback__)
    given = facts | {EVENT: line.event}
    record = log.makeRecord(log.name, line.level, __file__, 0, template, said, caught, log_runs.__name__, given)
    record.exc_text = trace or None
    return record


def logged_moves() -> list[Move]:
    """Moves that the level in force lets through: a worker need not publish the others."""
    levels = {move: line.level for move, line in LINES.items()} | {Move.LOSE: LINES[Move.FAIL].level}  # it may be final
    return [move for move, level in levels.items() if log.isEnabledFor(level)]


def _line_of(notice: Notice) -> RunLogLine | None:
    if notice.move is Move.LOSE and notice.run.status.final:
        return LINES[Move.FAIL]
    if notice.move is Move.LOSE and notice.run.reason == CRASHED:
        return RunLogLine(logging.WARNING, "run lost its process")
    if notice.move is Move.SNOOZE and notice.ended is None:
        return RunLogLine(logging.INFO, "run put off")
    return LINES.get(notice.move)


def log_change(change: FolderChange) -> None:
    """A listener of `bell.engine.on_change`. Problems are logged where they are found."""
    for what, files in (("loaded", change.added), ("reloaded", change.changed), ("gone", change.removed)):
        for file in files:
            files_log.info("job file %s: %s", file.path, what)


def _facts(notice: Notice) -> dict[str, Any]:
    move, run, ended = notice.move, notice.run, notice.ended
    facts = run_facts(run)
    began = run.started_at
    if ended is not None:  # the run goes on, and has forgotten who worked on it and since when
        facts |= {"attempt": ended.number, "worker_id": ended.worker}
        began = ended.started_at
    if move is Move.START:
        return facts
    if began is not None:
        facts["duration_s"] = round((run.updated_at - began).total_seconds(), 6)
    if move in (Move.RETRY, Move.SNOOZE):
        facts["again_at"] = _time(run.scheduled_for)
    if move is Move.SUCCEED:
        return facts if run.result_text is None else facts | {"result": _result(run)}
    if run.reason is not None and run.reason != "error":
        facts["reason"] = run.reason
    if move in FAILURES:
        facts |= _error(run.error or "")
    return facts


def _time(time: datetime) -> str:
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _result(run: Run) -> str:
    """Shortened; a text as it is, anything else as JSON."""
    text = run.result_text or ""
    if len(text) <= RESULT_LIMIT and text.startswith('"'):
        return str(run.result)
    return text if len(text) <= RESULT_LIMIT else f"{text[: RESULT_LIMIT - 1]}…"


def _whole_error(notice: Notice) -> str:
    """The error with its traceback, for formatters that show a record's message and nothing else."""
    return shown(notice.run.error or "", STACK_LIMIT) if notice.move in FAILURES else ""


def _error(text: str) -> dict[str, str]:
    """The parts of an error as it is stored with a run."""
    parts = read_error(text)
    facts = {"error.type": parts.type, "error.message": parts.message, "error.stack": parts.stack}
    return {name: value for name, value in facts.items() if value}
