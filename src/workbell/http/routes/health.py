"""Health routes: liveness, readiness, and the OpenAPI document."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from workbell.http.framework.answers import JsonResponse
from workbell.http.framework.problems import of_error
from workbell.http.routes.metrics import metrics
from workbell.http.service import service_of
from workbell.wire.openapi import openapi


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
