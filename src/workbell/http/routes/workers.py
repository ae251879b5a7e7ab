"""Routes of workers: list them with their runs, drain and resume one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from workbell.errors import Forbidden
from workbell.http.answers import JsonResponse
from workbell.http.call import ApiCall, call_of
from workbell.http.routing import Routes
from workbell.http.schemas.workers import WorkerList, WorkerShown
from workbell.http.worker_facts import for_tenant, whole
from workbell.model.access import EVERY_TENANT, Scope

routes = Routes("workers")


@routes.add("GET", "/workers", needs=Scope.READ, answers=WorkerList)
async def list(request: Request) -> Response:  # noqa: A001
    """List the workers of all machines: how much each does, and which of it is the tenant's.

    Lost ones are listed for a day. A token of another tenant than the program's sees what concerns that tenant: an
    alias for the id, its own runs and how many these are; neither host, pid and version nor what they do for others.
    """
    call = call_of(request)
    return JsonResponse({"items": await call.client.runtime.hop(_workers, call)})


def _workers(call: ApiCall) -> Sequence[dict[str, Any]]:
    seen = call.client.workers()
    if call.is_operator:
        return [whole(one) for one in seen]
    jobs = {job.name for job in call.client.jobs.list()}
    return [for_tenant(one, jobs) for one in seen]


@routes.add("POST", "/workers/{worker_id}/drain", needs=Scope.OPERATE, answers=WorkerShown)
async def drain(request: Request, worker_id: str) -> Response:
    """Have a worker claim nothing more, and end what it runs. Only with a token of all tenants.

    What it has not begun goes back to its queue. It confirms the drain within seconds: from `drain_seen_at` on it
    begins nothing. It stays there until it is resumed or stopped; once `drain_seen_at` is set and `busy` is 0, its
    machine can be taken away. A slash in its id is sent as %2F.
    """
    return JsonResponse(whole(await _of_all(request).client.adrain_worker(worker_id)))


@routes.add("POST", "/workers/{worker_id}/resume", needs=Scope.OPERATE, answers=WorkerShown)
async def resume(request: Request, worker_id: str) -> Response:
    """Let a drained worker claim runs again. Only with a token of all tenants."""
    return JsonResponse(whole(await _of_all(request).client.aresume_worker(worker_id)))


def _of_all(request: Request) -> ApiCall:
    """A tenant must not take the workers away from the others."""
    call = call_of(request)
    if call.access.tenant != EVERY_TENANT:
        raise Forbidden("Workers are shared by all tenants: they are drained and resumed with a token of all tenants.")
    return call
