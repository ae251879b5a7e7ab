"""For those who look after the server: is it alive, can it work, and the page that describes the API."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from workbell.errors import StoreError
from workbell.http.answers import JsonResponse
from workbell.http.problems import of_error
from workbell.http.routes.metrics import metrics
from workbell.http.service import service_of
from workbell.stores.port import Store


async def healthz(_request: Request) -> Response:
    return JsonResponse({"status": "ok"})


async def readyz(request: Request) -> Response:
    """Whether the store answers and has the right schema, and the server is not stopping."""
    service = service_of(request)
    if service.stopping.is_set():
        return JsonResponse({"status": "stopping"}, 503)
    try:
        await service.client.hop(_look, service.client.store)
    except StoreError as error:
        return of_error(error)
    return JsonResponse({"status": "ready"})


def _look(store: Store) -> None:
    store.check()
    store.runs.next_due()


async def openapi_page(request: Request) -> Response:
    return JsonResponse(await service_of(request).client.hop(request.app.openapi))  # the first time it takes a second


PLAIN_ROUTES: list[BaseRoute] = [
    Route("/healthz", healthz),
    Route("/readyz", readyz),
    Route("/metrics", metrics),
    Route("/openapi.json", openapi_page),
    Route("/api/v1/openapi.json", openapi_page),
]
