"""Routes of bulk actions: count, cancel or retry all runs of a filter."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from workbell.http.answers import JsonResponse
from workbell.http.call import call_of
from workbell.http.routing import Routes
from workbell.http.run_filter import RunFilter, run_filter
from workbell.http.schemas.bulk import BulkBody
from workbell.http.schemas.runs import RunCount, RunShown
from workbell.model.access import Scope

routes = Routes("bulk")  # listed before the runs: /runs/count would be taken for the run of that id


@routes.add("GET", "/runs/count", needs=Scope.READ, answers=RunCount)
async def count(request: Request, wanted: Annotated[RunFilter, Query()]) -> Response:
    """Count runs by filter, up to 10,000.

    A filter without an index reads no more than the last 20,000 runs; then too it is `capped`.
    """
    return JsonResponse(await call_of(request).client.acount_runs(**run_filter(request, wanted)))


@routes.add("POST", "/bulk", needs=Scope.OPERATE, answers=RunShown, status=202, creates=True)
async def act(request: Request, asked: BulkBody) -> Response:
    """Cancel or retry all runs of a filter: a run does it, whose progress can be watched.

    It acts on runs that were made before it; `retry` leaves out those that were retried before. Its result has
    `matched`, `done`, `skipped` and the first `errors`.
    """
    words = asked.filter.model_dump(exclude_none=True)
    call = call_of(request)
    run = await call.client.abulk(asked.action, dry_run=asked.dry_run, **words)
    call.subject = run.id
    return JsonResponse(run.as_dict(), 202)
