"""Converts outcomes to reports of the agent protocol. Pure."""

from __future__ import annotations

from typing import Any, assert_never

from workbell.model.outcome import Died, EndedOutcome, Failed, HandedBack, Later, Outcome, Raised, Returned, failed_of
from workbell.model.payload import decode


def report_of(outcome: Outcome) -> dict[str, Any]:
    """The body of a result, without the token."""
    match outcome:
        case Returned(result):
            return {"status": "succeeded", "result": decode(result)}
        case Raised() | Failed():
            failed = failed_of(outcome) if isinstance(outcome, Raised) else outcome
            return {
                "status": "failed",
                "error": failed.error,
                "reason": failed.reason,
                "kinds": failed.kinds[:50],
                "final": failed.final,
                "retry_after": failed.wait,
                "result": decode(failed.result),
            }
        case EndedOutcome(reason):
            return {"status": "canceled", "reason": reason}
        case Later(wait, reason):
            return {"status": "snoozed", "retry_after": wait.total_seconds(), "reason": reason}
        case HandedBack():
            return {"status": "released"}
        case Died(how):
            return {"status": "failed", "error": f"The process of this run {how}.", "reason": "crashed"}
        case _:
            assert_never(outcome)
