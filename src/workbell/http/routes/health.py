"""Health: liveness, readiness, metrics, the checks of the doctor; and the OpenAPI document."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from workbell.errors import Forbidden
from workbell.http.features.doctor_checks import shown
from workbell.http.features.metrics import CONTENT_TYPE, MetricsScope
from workbell.http.framework.answers import JsonResponse
from workbell.http.framework.call import ApiCall
from workbell.http.framework.operations import Served
from workbell.http.framework.problems import of_error
from workbell.http.service import service_of
from workbell.model.access import EVERY_TENANT, Scope
from workbell.wire import doctor
from workbell.wire.doctor import Findings
from workbell.wire.openapi import openapi

served = Served()


@served(doctor.examine)
async def examine(call: ApiCall) -> Findings:
    if call.access.tenant != EVERY_TENANT:
        raise Forbidden("The doctor checks the whole store, and so needs a token of all tenants, not of one.")
    found = await call.service.doctor.examine(call.service.client)
    items = [shown(finding) for finding in found.findings]
    return Findings(items=items, complete=found.complete, at=call.client.store.clock.now())


async def metrics(request: Request) -> Response:
    """`/metrics`, for Prometheus: with a token that may read, unless the setting http_metrics_open says that none is
    needed. A token of one tenant sees the runs and queues of that tenant, and what all tenants share only if that is
    the tenant of the program."""
    service = service_of(request)
    asked, tenant, shared = request.query_params, None, True
    if not service.settings.http_metrics_open:
        call = await service.admit(request, Scope.READ)
        if call.access.tenant != EVERY_TENANT or "tenant" in asked:
            tenant = call.tenant
        shared = call.is_operator
    view = MetricsScope(tenant, asked.get("by_tenant") in ("1", "true"), shared)
    return Response(await service.metrics.page(view), media_type=CONTENT_TYPE)


async def healthz(_request: Request) -> Response:
    return JsonResponse({"status": "ok"})


async def readyz(request: Request) -> Response:
    """Whether the store answers and has the right schema, and the server is not stopping."""
    service = service_of(request)
    if service.stopping.is_set():
        return JsonResponse({"status": "stopping"}, 503)
    trouble = await service.readiness.trouble()
    return JsonResponse({"status": "ready"}) if trouble is None else of_error(trouble)


async def openapi_page(request: Request) -> Response:
    return await service_of(request).pages.answer(request, "openapi", lambda: JsonResponse(openapi()))


PLAIN_ROUTES: list[BaseRoute] = [
    Route("/healthz", healthz),
    Route("/readyz", readyz),
    Route("/metrics", metrics),
    Route("/openapi.json", openapi_page),
    Route("/api/v1/openapi.json", openapi_page),
]
