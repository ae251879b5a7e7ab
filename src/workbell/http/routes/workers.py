"""Routes of workers: list them with their runs, drain and resume one."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from workbell.errors import Forbidden
from workbell.http.answers import JsonResponse
from workbell.http.call import ApiCall, call_of
from workbell.http.routing import Routes
from workbell.http.schemas.workers import WorkerList, WorkerShown
from workbell.model.access import EVERY_TENANT, Scope
from workbell.model.worker import SeenWorker

routes = Routes("workers")


@routes.add("GET", "/workers", needs=Scope.READ, answers=WorkerList)
async def list(request: Request) -> Response:  # noqa: A001
    """List the workers of all machines: how much each does, and which of it is the tenant's.

    Lost ones are listed for a day.
    """
    return JsonResponse({"items": [_shown(seen) for seen in await call_of(request).client.aworkers()]})


@routes.add("POST", "/workers/{worker_id}/drain", needs=Scope.OPERATE, answers=WorkerShown)
async def drain(request: Request, worker_id: str) -> Response:
    """Have a worker claim nothing more, and end what it runs. Only with a token of all tenants.

    What it has not begun goes back to its queue. It confirms the drain within seconds: from `drain_seen_at` on it
    begins nothing. It stays there until it is resumed or stopped; once `drain_seen_at` is set and `busy` is 0, its
    machine can be taken away. A slash in its id is sent as %2F.
    """
    return JsonResponse(_shown(await _of_all(request).client.adrain_worker(worker_id)))


@routes.add("POST", "/workers/{worker_id}/resume", needs=Scope.OPERATE, answers=WorkerShown)
async def resume(request: Request, worker_id: str) -> Response:
    """Let a drained worker claim runs again. Only with a token of all tenants."""
    return JsonResponse(_shown(await _of_all(request).client.aresume_worker(worker_id)))


def _of_all(request: Request) -> ApiCall:
    """A tenant must not take the workers away from the others."""
    call = call_of(request)
    if call.access.tenant != EVERY_TENANT:
        raise Forbidden("Workers are shared by all tenants: they are drained and resumed with a token of all tenants.")
    return call


def _shown(seen: SeenWorker) -> dict[str, Any]:
    shown = msgspec.structs.asdict(seen.worker) | {"alive": seen.alive, "busy": seen.busy}
    return shown | {"runs": [run.as_dict() for run in seen.runs]}
