"""Routes of recent runs of jobs, with durations, and of the next ticks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from workbell.client.local import LocalClient
from workbell.http.answers import JsonResponse
from workbell.http.call import call_of
from workbell.http.routing import Routes
from workbell.http.schemas.base import Name
from workbell.http.schemas.recent import Recent, Upcoming
from workbell.model.access import Scope
from workbell.model.ended_run import EndedRun
from workbell.model.run import Status
from workbell.scheduling.words import in_words

routes = Routes("recent")

MOST_JOBS = 200
MEASURED = 200  # finished runs of a job that the durations are of
Few = Annotated[int, Query(ge=1, le=100)]


@routes.add("GET", "/recent", needs=Scope.READ, answers=Recent)
async def runs(
    request: Request,
    job: Annotated[Name | None, Query(description="Of this job only; otherwise of the first 200 by name.")] = None,
    limit: Few = 20,
) -> Response:
    """Show the last finished runs of each job, and how long those of the last 200 took that succeeded or failed."""
    client = call_of(request).client
    return JsonResponse({"items": await client.runtime.hop(_recent, client, job, limit)})


def _recent(client: LocalClient, job: str | None, limit: int) -> Sequence[dict[str, Any]]:
    names = [known.name for known in client.jobs.list()][:MOST_JOBS] if job is None else [job]
    found = client.store.reports.recent(client.tenant, names, MEASURED)
    return [shown_job(name, found.get(name, []), limit) for name in names]


def shown_job(job: str, ended: Sequence[EndedRun], limit: int) -> dict[str, Any]:
    measured = [run for run in ended if run.status is not Status.CANCELED and run.duration is not None]
    taken = sorted(run.duration or 0.0 for run in measured)
    return {
        "job": job,
        "runs": [
            {
                "id": run.id,
                "status": run.status,
                "started_at": run.started_at,
                "finished_at": run.finished_at,
                "duration": run.duration,
                "attempts": run.attempt,
            }
            for run in ended[:limit]
        ],
        "count": len(taken),
        "failed": sum(run.status is Status.FAILED for run in measured),
        "since": min((run.finished_at for run in measured), default=None),
        "p50": quantile(taken, 50),
        "p95": quantile(taken, 95),
        "longest": taken[-1] if taken else None,
    }


def quantile(ascending: Sequence[float], percent: int) -> float | None:
    """The smallest of them that so many percent do not exceed: always one that was measured."""
    return ascending[-(-len(ascending) * percent // 100) - 1] if ascending else None


@routes.add("GET", "/upcoming", needs=Scope.READ, answers=Upcoming)
async def ticks(request: Request, limit: Few = 10) -> Response:
    """Show which schedules come next, the next one first; those that are paused or switched off are left out."""
    client = call_of(request).client
    return JsonResponse({"items": await client.runtime.hop(_upcoming, client, limit)})


def _upcoming(client: LocalClient, limit: int) -> Sequence[dict[str, Any]]:
    return [
        {
            "schedule": schedule.name,
            "job": schedule.job,
            "due": schedule.next_run_at,
            "timezone": schedule.timezone,
            "in_words": in_words(schedule),
        }
        for schedule in client.store.reports.upcoming(client.tenant, limit)
    ]
