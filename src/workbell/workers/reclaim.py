"""Decides the transition of a dead child's run: lost, quarantined after repeated crashes, or handed back. Pure."""

from __future__ import annotations

from datetime import datetime
from random import Random
from typing import assert_never

from workbell.model import state
from workbell.model.outcome import Raised, decide
from workbell.model.retry import Retry
from workbell.model.run import Run
from workbell.model.state import Retention, Transition
from workbell.workers.messages import Bury, DeathVerdict


class WorkerKilled(Exception):
    """The handler did not return within its time, and nothing less than the end of its worker could stop it."""


def burial(
    run: Run, bury: Bury, now: datetime, *, keep: Retention, job_retry: Retry | None, randomness: Random
) -> Transition:
    """Transition of one run that the child held.

    A run that was claimed and not begun goes back as if it had never been claimed. For an executing run the verdict
    decides. A handler that had returned, or ran in its own process, did not kill it; but its call counts as an attempt.
    """
    if run.id in bury.timed_out:
        late = Raised(WorkerKilled(f"{run.job} did not return within its time; its worker was killed"), "timeout")
        begun = run.started_at
        return decide(run, late, now, started_at=begun, job_retry=job_retry, keep=keep, randomness=randomness)
    if run.id not in bury.executing and run.id not in bury.returned:
        return state.release(run, now)
    retention = state.retention_of(run, keep).other
    verdict = bury.verdict
    if verdict is DeathVerdict.BLAMED and run.id not in bury.executing:
        verdict = DeathVerdict.INNOCENT
    match verdict:
        case DeathVerdict.BLAMED:
            return state.lose(run, now, keep=retention, blamed=True, how=bury.how)
        case DeathVerdict.INNOCENT:
            return state.lose(run, now, keep=retention, blamed=False, how=bury.how)
        case DeathVerdict.HANDED_BACK:
            return state.release(run, now, started_at=run.started_at)
        case _:
            assert_never(verdict)
