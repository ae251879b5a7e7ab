"""Outcome of a handler's call, and the transition that follows from it. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta
from random import Random
from typing import Any, assert_never

import msgspec

from workbell.errors import InvalidInput
from workbell.model import state
from workbell.model.cancel_snooze import Cancel, RetryAfter, Snooze, TryAgain
from workbell.model.clock import span
from workbell.model.error_text import describe_error, describe_words
from workbell.model.json_text import clean_text, encode_any, encode_result, within_limits
from workbell.model.request import reschedule
from workbell.model.retry import DEFAULT, Retry, kinds_of
from workbell.model.run import Run
from workbell.model.state import Retention, Transition


class Returned(msgspec.Struct, frozen=True, tag="returned"):
    result: str | None


class Raised(msgspec.Struct, frozen=True):
    error: BaseException
    reason: str = "error"
    final: bool = False  # another try could not help
    unstored: bytes | None = None  # what the handler returned, as JSON that is over the limits


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """A failure as text: the exception was raised in another process."""

    error: str
    reason: str = "error"
    kinds: tuple[str, ...] = ()
    final: bool = False
    wait: float = 0.0  # seconds before the next attempt, at least
    result: str | None = None  # its result, as JSON


class Died(msgspec.Struct, frozen=True):
    """The process that the handler had for itself is dead, by its own doing."""

    how: str


class EndedOutcome(msgspec.Struct, frozen=True, tag="ended"):
    reason: str


class Later(msgspec.Struct, frozen=True, tag="later"):
    wait: timedelta
    reason: str | None


class HandedBack(msgspec.Struct, frozen=True, tag="handed-back"):
    """Handed back: not done, and no attempt spent."""


class OutsideWindow(msgspec.Struct, frozen=True):
    """Not called, because the run's window is closed: it waits for the opening or, without one, ends."""

    opening: datetime | None


Outcome = Returned | Raised | Failed | Died | EndedOutcome | Later | HandedBack | OutsideWindow

RESULT = "the handler's return value"
NOTHING = Returned(None)
HANDED_BACK = HandedBack()


def read_return(value: Any) -> Outcome:
    """A handler's return value as an outcome. One that cannot be stored fails the run, and says so."""
    if value is None:
        return NOTHING
    try:
        if isinstance(value, Cancel):
            return EndedOutcome(clean_text(str(value.reason), 500))
        if isinstance(value, Snooze):
            wait = span("Snooze", max(value.wait, timedelta(0)))
            return Later(wait, None if value.reason is None else clean_text(str(value.reason), 500))
        data = encode_any(RESULT, value)
    except Exception as error:  # noqa: BLE001  whatever is wrong with it, the run must be booked
        return Raised(error, "result", final=True)
    try:
        return Returned(within_limits(RESULT, data))
    except InvalidInput as error:
        return Raised(error, "result", final=True, unstored=data)


def failed_of(raised: Raised) -> Failed:
    """A raised exception as text: all of it that is stored and that decisions use."""
    error = raised.error
    if isinstance(error, RetryAfter):
        failed = failed_of(Raised(error.error, raised.reason, raised.final))
        return msgspec.structs.replace(failed, wait=max(failed.wait, error.wait.total_seconds()))
    kinds = tuple(sorted(kinds_of(type(error))))
    if not isinstance(error, TryAgain):
        return Failed(describe_error(error), raised.reason, kinds, raised.final)
    final = raised.final or not error.again
    words = describe_words(error.words, error)
    return Failed(words, raised.reason, kinds, final, error.wait.total_seconds(), _result_text(error))


def _result_text(error: TryAgain) -> str | None:
    """The result without values that cannot be stored: the failure itself must be booked."""
    if error.result is None:
        return None
    try:
        return encode_result("the error's result", error.result)
    except Exception:  # noqa: BLE001
        return None


CHAIN_OVER = "the last run of its chain"  # why nothing follows a run with `auto_reschedule`


def decide(
    run: Run,
    outcome: Outcome,
    now: datetime,
    *,
    started_at: datetime | None,
    job_retry: Retry | None,
    keep: Retention,
    randomness: Random,
) -> Transition:
    """The one transition that an outcome leads to."""
    keep = keep if run.options_text is None else state.retention_of(run, keep)
    match outcome:
        case Returned():
            return state.succeed(run, now, result=outcome.result, keep=keep.succeeded, started_at=started_at)
        case EndedOutcome(reason):
            return state.cancel(run, now, reason=reason, keep=keep.other, started_at=started_at)
        case Later(wait, reason):
            return state.snooze(run, now, wait=wait, reason=reason, started_at=started_at)
        case HandedBack():
            return state.release(run, now, started_at=started_at)
        case OutsideWindow(opening):
            if opening is None:
                return state.shut_out(run, now, keep=keep.other)
            return state.put_off(run, now, until=opening)
        case Died(how):
            return state.crash(run, now, keep=keep.other, how=how, started_at=started_at)
        case Raised() | Failed():
            failed = failed_of(outcome) if isinstance(outcome, Raised) else outcome
            text, reason = failed.error, failed.reason
            own = None if run.options_text is None else run.options.retry
            policy = own or job_retry or DEFAULT
            failures = run.failures + 1
            if not failed.final and policy.allows(failures, failed.kinds):
                wait = max(policy.wait(failures, randomness), timedelta(seconds=failed.wait))
                return state.retry(
                    run, now, error=text, reason=reason, wait=wait, started_at=started_at, result=failed.result
                )
            follow = reschedule(run, now)
            if run.ends_chain:
                reason = f"{reason}; {CHAIN_OVER}"
            return state.fail(
                run,
                now,
                error=text,
                reason=reason,
                keep=keep.other,
                started_at=started_at,
                then=() if follow is None else (follow,),
                result=failed.result,
            )
        case _:
            assert_never(outcome)
