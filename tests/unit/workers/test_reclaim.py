"""F1: what becomes of the runs of a dead worker: blame for those at work, none for those beside or behind them."""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import Any

import pytest

from tests.unit.makers import NOW, run_in
from workbell.model.retry import ONCE, Retry
from workbell.model.run import AttemptStatus, Run, Status
from workbell.model.state import Retention, Transition
from workbell.workers.messages import Bury, DeathVerdict
from workbell.workers.reclaim import burial


def held(**changes: Any) -> Run:
    """A run in the hands of a worker."""
    return run_in(Status.RUNNING, **changes)


def buried(run: Run, verdict: DeathVerdict, *, at_work: bool = True, late: bool = False, **more: Any) -> Transition:
    bury = Bury("w", "was killed by signal 9 (SIGKILL)", verdict, [run.id] * at_work, [run.id] * late)
    settings = {"keep": Retention(), "job_retry": None, "randomness": Random(1)} | more
    return burial(run, bury, NOW + timedelta(seconds=5), **settings)


def test_one_that_had_not_begun_is_as_if_it_had_never_been_claimed() -> None:
    move = buried(held(), DeathVerdict.BLAMED, at_work=False)
    assert (move.status, move.attempt, move.losses, move.crashes, move.suspect) == (Status.QUEUED, 0, 0, 0, False)
    assert move.ended is None


@pytest.mark.parametrize("alone", [False, True])
def test_one_that_had_returned_was_called_and_is_innocent(alone: bool) -> None:
    run = held(alone=alone, crashes=2)
    bury = Bury("w", "was killed by signal 9 (SIGKILL)", DeathVerdict.BLAMED, [], [], [run.id])
    move = burial(run, bury, NOW + timedelta(seconds=5), keep=Retention(), job_retry=None, randomness=Random(1))
    assert (move.status, move.attempt, move.losses, move.crashes, move.suspect) == (Status.QUEUED, 1, 1, 2, False)
    assert move.ended is not None
    assert move.ended.status is AttemptStatus.LOST


def test_one_at_work_becomes_a_suspect_and_the_loss_is_recorded() -> None:
    move = buried(held(), DeathVerdict.BLAMED)
    assert (move.status, move.losses, move.crashes, move.failures, move.suspect) == (Status.QUEUED, 1, 0, 0, True)
    assert move.ended is not None
    assert move.ended.status is AttemptStatus.LOST
    assert "was killed by signal 9" in (move.error or "")


def test_the_third_death_alone_sets_it_aside() -> None:
    second = buried(held(suspect=True, alone=True, crashes=1, losses=2), DeathVerdict.BLAMED)
    assert (second.status, second.crashes) == (Status.QUEUED, 2)
    third = buried(held(suspect=True, alone=True, crashes=2, losses=3), DeathVerdict.BLAMED)
    assert (third.status, third.crashes, third.reason) == (Status.FAILED, 3, "crashed")


@pytest.mark.parametrize("alone", [False, True])
def test_the_innocent_are_not_blamed(alone: bool) -> None:
    move = buried(held(alone=alone, crashes=2), DeathVerdict.INNOCENT)
    assert (move.status, move.losses, move.crashes, move.suspect) == (Status.QUEUED, 1, 2, False)


def test_one_whose_worker_was_told_to_stop_has_spent_nothing() -> None:
    move = buried(held(), DeathVerdict.HANDED_BACK)
    assert (move.status, move.failures, move.losses, move.suspect) == (Status.QUEUED, 0, 0, False)
    assert move.ended is not None
    assert move.ended.status is AttemptStatus.RELEASED


def test_one_that_outlasted_its_time_has_failed_once() -> None:
    again = buried(held(), DeathVerdict.INNOCENT, late=True, job_retry=Retry(attempts=2, delay=0, jitter=0))
    assert (again.status, again.reason, again.failures, again.losses) == (Status.SCHEDULED, "timeout", 1, 0)
    over = buried(held(), DeathVerdict.INNOCENT, late=True, job_retry=ONCE)
    assert (over.status, over.reason) == (Status.FAILED, "timeout")
