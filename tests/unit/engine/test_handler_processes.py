"""What comes of a run in a process of its own: errors of which only words are left, and deaths."""

from __future__ import annotations

from datetime import timedelta
from random import Random

import pytest

from tests.unit.makers import NOW, run_in
from workbell.engine.handler_processes.messages import answer_of
from workbell.engine.handler_processes.process import how_it_ended
from workbell.model.outcome import Died, Outcome, Raised, decide, failed_of
from workbell.model.retry import Retry
from workbell.model.run import AttemptStatus, Run, Status
from workbell.model.state import Move, Retention, Transition

BEGUN = NOW + timedelta(seconds=1)
END = NOW + timedelta(seconds=2)


def decided(outcome: Outcome, run: Run, retry: Retry | None = None) -> Transition:
    return decide(run, outcome, END, started_at=BEGUN, job_retry=retry, keep=Retention(), randomness=Random(0))


def test_deaths_are_counted_and_the_third_is_the_last() -> None:
    run = run_in(Status.RUNNING)
    for count in (1, 2):
        change = decided(Died("exited with code 3"), run)
        assert (change.move, change.status, change.reason) == (Move.LOSE, Status.QUEUED, "crashed")
        assert (change.crashes, change.losses, change.failures) == (count, count, 0)
        assert not change.suspect, "it died alone: nobody has to be kept away from it"
        assert change.ended is not None
        assert (change.ended.status, change.ended.started_at) == (AttemptStatus.LOST, BEGUN)
        assert change.ended.error == "The process of this run exited with code 3."
        run = run_in(Status.RUNNING, crashes=change.crashes, losses=change.losses, attempt=count + 1)
    last = decided(Died("exited with code 3"), run)
    assert (last.move, last.status, last.reason, last.crashes) == (Move.LOSE, Status.FAILED, "crashed", 3)
    assert last.error == "The process of this run exited with code 3."
    assert last.remove_at == END + Retention().other


@pytest.mark.parametrize(
    "policy",
    [Retry(), Retry(attempts=1), Retry(give_up_on=LookupError), Retry(only_on=LookupError), Retry(only_on=OSError)],
    ids=str,
)
@pytest.mark.parametrize("failures", [0, 2])
@pytest.mark.parametrize("final", [True, False])
def test_an_error_in_words_is_decided_as_the_error_itself(policy: Retry, failures: int, final: bool) -> None:
    run = run_in(Status.RUNNING, failures=failures)
    raised = Raised(KeyError("x"), "error", final)
    assert decided(failed_of(raised), run, policy) == decided(raised, run, policy)


def test_memory_at_its_end_is_named_only_where_it_was_limited() -> None:
    raised = Raised(MemoryError())
    assert answer_of(raised, limited_memory=True) == failed_of(Raised(raised.error, "memory"))
    assert answer_of(raised) == failed_of(raised)
    assert answer_of(Raised(ValueError()), limited_memory=True) == failed_of(Raised(ValueError()))


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (0, "exited with code 0"),
        (3, "exited with code 3"),
        (-11, "was killed by signal 11 (SIGSEGV)"),
        (-9, "was killed by signal 9 (SIGKILL, perhaps for want of memory)"),
        (-120, "was killed by signal 120"),
        (None, "could not be killed"),
    ],
)
def test_how_a_process_ended_in_words(code: int | None, words: str) -> None:
    assert how_it_ended(code) == words
