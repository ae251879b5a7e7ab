"""Recent finished runs of a job, and quantiles of their durations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from workbell.model.ended_run import EndedRun
from workbell.model.recent_runs import Ended, RecentRun, RecentRuns
from workbell.model.run import Status

MEASURED = 200  # finished runs of a job that the durations are of


def recent_runs(job: str, ended: Sequence[EndedRun], limit: int) -> RecentRuns:
    """The newest of these runs, and the durations of all that succeeded or failed."""
    measured = [run for run in ended if run.status is not Status.CANCELED and run.duration is not None]
    taken = sorted(run.duration or 0.0 for run in measured)
    return RecentRuns(
        job=job,
        runs=tuple(_recent_run(run) for run in ended[:limit]),
        count=len(taken),
        failed=sum(run.status is Status.FAILED for run in measured),
        since=min((run.finished_at for run in measured), default=None),
        p50=quantile(taken, 50),
        p95=quantile(taken, 95),
        longest=taken[-1] if taken else None,
    )


def _recent_run(run: EndedRun) -> RecentRun:
    return RecentRun(
        id=run.id,
        status=cast(Ended, run.status.value),
        started_at=run.started_at,
        finished_at=run.finished_at,
        duration=run.duration,
        attempts=run.attempt,
    )


def quantile(ascending: Sequence[float], percent: int) -> float | None:
    """The smallest of them that so many percent do not exceed: always one that was measured."""
    return ascending[-(-len(ascending) * percent // 100) - 1] if ascending else None
