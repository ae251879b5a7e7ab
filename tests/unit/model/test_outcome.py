"""What a handler's call came to, and the one transition that follows from it."""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import Any

import msgspec
import pytest

from tests.unit.makers import NOW, run_in
from workbell.errors import InvalidInput
from workbell.model.cancel_snooze import Cancel, RetryAfter, Snooze
from workbell.model.error_text import error_type
from workbell.model.outcome import (
    HANDED_BACK,
    EndedOutcome,
    Later,
    Outcome,
    OutsideWindow,
    Raised,
    Returned,
    decide,
    read_return,
)
from workbell.model.retry import Retry
from workbell.model.run import Options, Run, RunWindow, Status
from workbell.model.state import Move, Retention, Transition

KEEP = Retention(timedelta(days=7), timedelta(days=30))
BEGUN = NOW + timedelta(seconds=1)
END = NOW + timedelta(seconds=2)
FAILED = Raised(ValueError("bad"))


def running(options: Options | None = None, **fields: Any) -> Run:
    text = None if options is None else msgspec.json.encode(options).decode()
    return run_in(Status.RUNNING, options_text=text, **fields)


def decided(outcome: Outcome, run: Run | None = None, job_retry: Retry | None = None) -> Transition:
    return decide(
        run or running(), outcome, END, started_at=BEGUN, job_retry=job_retry, keep=KEEP, randomness=Random(0)
    )


@pytest.mark.parametrize(
    ("outcome", "run", "move", "status", "reason"),
    [
        (Returned('{"a":1}'), None, Move.SUCCEED, Status.SUCCEEDED, None),
        (Returned(None), None, Move.SUCCEED, Status.SUCCEEDED, None),
        (EndedOutcome("not needed"), None, Move.CANCEL, Status.CANCELED, "not needed"),
        (Later(timedelta(seconds=5), "busy"), None, Move.SNOOZE, Status.SCHEDULED, "busy"),
        (HANDED_BACK, None, Move.RELEASE, Status.QUEUED, None),
        (OutsideWindow(END), None, Move.SNOOZE, Status.SCHEDULED, "outside the window"),
        (OutsideWindow(None), None, Move.CANCEL, Status.CANCELED, "window"),
        (FAILED, None, Move.RETRY, Status.SCHEDULED, "error"),
        (FAILED, running(failures=1), Move.RETRY, Status.SCHEDULED, "error"),
        (FAILED, running(failures=2), Move.FAIL, Status.FAILED, "error"),
        (Raised(ValueError(), "timeout"), None, Move.RETRY, Status.SCHEDULED, "timeout"),
        (Raised(ValueError(), "result", final=True), None, Move.FAIL, Status.FAILED, "result"),
    ],
    ids=str,
)
def test_each_outcome_leads_to_one_transition(
    outcome: Outcome, run: Run | None, move: Move, status: Status, reason: str | None
) -> None:
    change = decided(outcome, run)
    assert (change.move, change.status, change.reason) == (move, status, reason)
    assert (change.expected, change.expected_token) == (Status.RUNNING, 1)


def test_a_result_is_kept_for_its_time() -> None:
    change = decided(Returned("1"))
    assert (change.result_text, change.started_at, change.finished_at) == ("1", BEGUN, END)
    assert change.remove_at == END + KEEP.succeeded
    assert decided(EndedOutcome("x")).remove_at == END + KEEP.other
    assert decided(FAILED, running(failures=2)).remove_at == END + KEEP.other


def test_remove_delay_rules_over_how_long_a_run_is_kept() -> None:
    run = running(Options(remove_delay=60), failures=2)
    for outcome in (Returned(None), EndedOutcome("x"), FAILED):
        assert decided(outcome, run).remove_at == END + timedelta(seconds=60)


def test_a_remove_delay_of_nothing_is_nothing() -> None:
    assert decided(Returned(None), running(Options(remove_delay=0))).remove_at == END


def test_the_runs_own_policy_goes_before_the_jobs_and_that_before_the_default() -> None:
    own = running(Options(retry=Retry(attempts=1)))
    assert decided(FAILED, own, Retry(attempts=9)).move is Move.FAIL
    assert decided(FAILED, running(), Retry(attempts=1)).move is Move.FAIL
    assert decided(FAILED, running()).move is Move.RETRY


def test_a_retry_waits_as_long_as_the_policy_says() -> None:
    change = decided(FAILED, running(failures=1), Retry(attempts=9, delay=10, factor=3, jitter=0))
    assert change.scheduled_for == END + timedelta(seconds=30)
    assert change.failures == 2
    assert change.error is not None
    assert change.error.startswith("ValueError: bad")


def test_an_error_the_policy_gives_up_on_ends_the_run() -> None:
    assert decided(FAILED, None, Retry(give_up_on=ValueError)).move is Move.FAIL  # type: ignore[arg-type]


def test_a_final_failure_makes_the_run_that_follows() -> None:
    """B8: a new run after the delay, linked to the failed one, and held to the same window."""
    options = Options(auto_reschedule=30, reschedules_left=2, window=RunWindow("02:00", "06:00", "UTC"))
    change = decided(FAILED, running(options, failures=2))
    (follow,) = change.then
    assert follow.run.rescheduled_from == change.run_id
    assert follow.run.options.window == options.window
    assert follow.run.scheduled_for == END + timedelta(seconds=30)
    assert decided(FAILED, running(options)).then == ()  # it is tried again first


def test_handed_back_before_it_began_spends_not_even_the_attempt() -> None:
    change = decide(running(), HANDED_BACK, END, started_at=None, job_retry=None, keep=KEEP, randomness=Random(0))
    assert (change.move, change.attempt, change.ended) == (Move.RELEASE, 0, None)


@pytest.mark.parametrize(
    ("value", "outcome"),
    [
        (None, Returned(None)),
        ({"a": (1, 2)}, Returned('{"a":[1,2]}')),
        (0, Returned("0")),
        (Cancel("enough"), EndedOutcome("enough")),
        (Cancel("a\x00"), EndedOutcome("a\N{REPLACEMENT CHARACTER}")),
        (Snooze(5, "busy"), Later(timedelta(seconds=5), "busy")),
        (Snooze(timedelta(minutes=1)), Later(timedelta(minutes=1), None)),
        (Snooze(-5), Later(timedelta(0), None)),
    ],
    ids=repr,
)
def test_a_return_value_is_read(value: Any, outcome: Outcome) -> None:
    assert read_return(value) == outcome


class Treacherous:
    def model_dump(self, mode: str) -> Any:
        raise RuntimeError("broken")


@pytest.mark.parametrize(
    "value",
    [object(), "\ud800", "x" * 300_000, Treacherous(), Snooze(float("nan")), Snooze(float("inf")), Snooze(10**300)],
    ids=["object", "surrogate", "huge", "treacherous", "nan", "endless", "beyond"],
)
def test_a_return_value_that_cannot_be_stored_fails_the_run_at_once(value: Any) -> None:
    """Design rule 10: a result can always be booked."""
    outcome = read_return(value)
    assert isinstance(outcome, Raised)
    assert outcome.final
    change = decided(outcome)
    assert (change.status, change.reason) == (Status.FAILED, "result")
    assert change.error is not None
    if not isinstance(value, Snooze):
        assert isinstance(outcome.error, InvalidInput)


@pytest.mark.parametrize(("after", "wait"), [(120, 120), (1, 10)])
def test_retry_after_fails_with_the_error_that_it_wraps(after: float, wait: float) -> None:
    try:
        raise LookupError("busy")
    except LookupError as error:
        outcome = Raised(RetryAfter(error, after))
    change = decided(outcome, job_retry=Retry(attempts=2, delay=10, jitter=0, only_on=LookupError))
    assert (change.status, change.scheduled_for) == (Status.SCHEDULED, END + timedelta(seconds=wait))
    assert error_type(change.ended.error if change.ended is not None else change.error) == "builtins.LookupError"
    assert decided(outcome, job_retry=Retry(attempts=2, give_up_on=LookupError)).status is Status.FAILED
