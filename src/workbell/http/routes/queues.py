"""Queues: what waits in each, and pausing one; and all that is paused."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body
from starlette.requests import Request
from starlette.responses import Response

from workbell.http.answers import JsonResponse
from workbell.http.call import call_of
from workbell.http.queue_list import queues_of
from workbell.http.routing import Routes
from workbell.http.schemas.jobs import PauseList, PauseShown, Resumed
from workbell.http.schemas.queues import QueueBody, Queues
from workbell.model.access import Scope

routes = Routes("queues")


@routes.add("GET", "/queues", needs=Scope.READ, answers=Queues)
async def list(request: Request) -> Response:  # noqa: A001
    """List the queues: what waits and runs in each, for how long, and what is paused."""
    client = call_of(request).client
    return JsonResponse({"items": await client.runtime.hop(queues_of, client)})


@routes.add("POST", "/queues/{name}/pause", needs=Scope.OPERATE, answers=PauseShown)
async def pause(request: Request, name: str, asked: Annotated[QueueBody | None, Body()] = None) -> Response:
    """Start no more runs of a queue, or of one job in it, until it is resumed; what is running goes on."""
    return JsonResponse(await call_of(request).client.apause(queue=name, job=None if asked is None else asked.job))


@routes.add("POST", "/queues/{name}/resume", needs=Scope.OPERATE, answers=Resumed)
async def resume(request: Request, name: str, asked: Annotated[QueueBody | None, Body()] = None) -> Response:
    """End the pause of a queue and those of single jobs in it, or that of one job."""
    job = None if asked is None else asked.job
    return JsonResponse({"ended": await call_of(request).client.aresume(queue=name, job=job)})


@routes.add("GET", "/pauses", needs=Scope.READ, answers=PauseList)
async def pauses(request: Request) -> Response:
    """List what is paused, and since when."""
    return JsonResponse({"items": await call_of(request).client.apauses()})
