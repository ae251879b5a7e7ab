"""Converts outcomes to results of the agent protocol. Pure."""

from __future__ import annotations

from functools import partial
from typing import assert_never

from workbell.model.agent import Ending
from workbell.model.json_text import decode
from workbell.model.outcome import (
    Died,
    EndedOutcome,
    Failed,
    HandedBack,
    Later,
    Outcome,
    OutsideWindow,
    Raised,
    Returned,
    failed_of,
)
from workbell.wire.agents import ResultBody

MOST_KINDS = 50


def result_of(outcome: Outcome, token: int, session: str) -> ResultBody:
    """The result of a run that this session holds under this token."""
    ended = partial(ResultBody, token=token, session=session)
    match outcome:
        case Returned(result):
            return ended(status=Ending.SUCCEEDED, result=decode(result))
        case Raised() | Failed():
            failed = failed_of(outcome) if isinstance(outcome, Raised) else outcome
            return ended(
                status=Ending.FAILED,
                error=failed.error,
                reason=failed.reason,
                kinds=failed.kinds[:MOST_KINDS],
                final=failed.final,
                retry_after=failed.wait,
                result=decode(failed.result),
            )
        case EndedOutcome(reason):
            return ended(status=Ending.CANCELED, reason=reason)
        case Later(wait, reason):
            return ended(status=Ending.SNOOZED, retry_after=wait.total_seconds(), reason=reason)
        case HandedBack() | OutsideWindow():
            return ended(status=Ending.RELEASED)
        case Died(how):
            return ended(status=Ending.FAILED, error=f"The process of this run {how}.", reason="crashed")
        case _:
            assert_never(outcome)
