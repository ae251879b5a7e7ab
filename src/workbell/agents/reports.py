"""Converts an agent's report about a run to an outcome. Pure.

A report must always be bookable: what cannot be stored is cut, left out, or replaced by an error message.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, assert_never

from workbell.errors import InvalidOption, WorkbellError
from workbell.model.agent import Ending
from workbell.model.clock import seconds
from workbell.model.json_text import clean_text, encode_result
from workbell.model.outcome import HANDED_BACK, EndedOutcome, Failed, Later, Outcome, Returned
from workbell.model.run import Run
from workbell.wire.agents import AttemptReport

LATER = 60.0  # seconds until a snoozed run comes again, if the agent does not say
REASON_LIMIT = 500
KINDS = 50


def outcome_of(report: AttemptReport, run: Run) -> Outcome:
    """A report as the outcome of a handler."""
    match report.status:
        case Ending.SUCCEEDED:
            return _returned(report)
        case Ending.FAILED:
            return Failed(
                clean_text(report.error or "The agent reported a failure, and no error."),
                _reason(report) or "error",
                tuple(clean_text(kind, 200) for kind in report.kinds[:KINDS]),
                report.final,
                _wait(report, 0.0),
                _result_text(report.result),
            )
        case Ending.CANCELED:
            requested = run.reason if run.cancel_requested else None
            return EndedOutcome(_reason(report) or requested or "canceled by its agent")
        case Ending.SNOOZED:
            return Later(timedelta(seconds=_wait(report, LATER)), _reason(report))
        case Ending.RELEASED:
            return HANDED_BACK
        case _:
            assert_never(report.status)


def _returned(report: AttemptReport) -> Outcome:
    if report.result is None:
        return Returned(None)
    try:
        return Returned(encode_result("the agent's result", report.result))
    except WorkbellError as error:
        return Failed(clean_text(f"{error} The server has not kept it."), "result", final=True)


def _result_text(result: Any) -> str | None:
    """The result that comes with a failure, None if it cannot be stored: the failure itself must be booked."""
    if result is None:
        return None
    try:
        return encode_result("the agent's result", result)
    except WorkbellError:
        return None


def _reason(report: AttemptReport) -> str | None:
    return clean_text(report.reason, REASON_LIMIT) if report.reason else None


def _wait(report: AttemptReport, default: float) -> float:
    if report.retry_after is None:
        return default
    try:
        return seconds("retry_after", report.retry_after)
    except InvalidOption:
        return default
