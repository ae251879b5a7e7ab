"""ASGI application: every operation with its guard, and every error as a problem document."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from workbell.errors import WorkbellError
from workbell.http.dashboard.assets import begin_loading
from workbell.http.framework import problems
from workbell.http.framework.middleware import Gate
from workbell.http.framework.operations import ServedOperation
from workbell.http.framework.router import ApiRoutes
from workbell.http.pages.front import PAGE_ROUTES, unknown, wants_page
from workbell.http.routes import (
    access,
    agents,
    events,
    files,
    health,
    jobs,
    notifications,
    overview,
    queues,
    rounds,
    runs,
    schedules,
    sockets,
    triggers,
    webhooks,
    workers,
)
from workbell.http.service import Service

SERVED: list[ServedOperation] = [
    *runs.served,
    *events.served,
    *jobs.served,
    *schedules.served,
    *agents.served,
    *access.served,
    *notifications.served,
    *sockets.served,
    *triggers.served,
    *webhooks.served,
    *queues.served,
    *workers.served,
    *rounds.served,
    *files.served,
    *overview.served,
    *health.served,
]


def make_app(service: Service) -> Starlette:
    """The API of a service, below /api/v1, and beside it the health checks, the metrics, the sockets and the pages."""

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        begin_loading()
        yield
        await service.close()

    app = Starlette(
        routes=[ApiRoutes(SERVED), *health.PLAIN_ROUTES, *sockets.SOCKET_ROUTES, *PAGE_ROUTES],
        exception_handlers={
            WorkbellError: problems.on_workbell_error,
            problems.InvalidRequest: problems.on_invalid,
            HTTPException: _on_http,
            ClientDisconnect: problems.on_gone,
            Exception: problems.on_crash,
        },
        lifespan=lifespan,
    )
    app.state.service = service
    app.add_middleware(Gate, service=service)
    return app


async def _on_http(request: Request, error: Exception) -> Response:
    """A page for a browser that asks for an address that there is not, a problem for everybody else."""
    if isinstance(error, HTTPException) and error.status_code == 404 and wants_page(request):
        return await unknown(request)
    return await problems.on_http(request, error)
