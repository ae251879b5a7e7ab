"""Route of tallies: finished runs over time, for charts."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from workbell.http.answers import JsonResponse
from workbell.http.call import call_of
from workbell.http.routing import Routes
from workbell.http.schemas.base import Name
from workbell.http.schemas.tallies import TalliesShown
from workbell.model.access import Scope

routes = Routes("tallies")

LONGEST = 7 * 24 * 60


@routes.add("GET", "/tallies", needs=Scope.READ, answers=TalliesShown)
async def read(
    request: Request,
    minutes: Annotated[int, Query(ge=1, le=LONGEST, description="How far back.")] = 60,
    job: Annotated[Name | None, Query(description="Of this job only.")] = None,
    queue: Annotated[Name | None, Query(description="Of this queue only.")] = None,
) -> Response:
    """Say how many attempts ended over the last minutes, and how: by steps of time, and by job.

    A step is as long as it takes to have no more than 120 of them. What ended in the newest seconds may be missing:
    each worker adds up by itself, and writes that down every five seconds.
    """
    call = call_of(request)
    return JsonResponse(await call.service.tally_chart.read(call.client, minutes, job, queue))
