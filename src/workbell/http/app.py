"""ASGI application: every route with its guard, and every error as a problem document."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pydantic
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from workbell.errors import WorkbellError
from workbell.http import problems
from workbell.http.middleware import Gate
from workbell.http.pages.front import PAGE_ROUTES, unknown, wants_page
from workbell.http.routes.all import ROUTES
from workbell.http.routes.health import PLAIN_ROUTES
from workbell.http.routes.sockets import SOCKET_ROUTES
from workbell.http.routing import PREFIX
from workbell.http.schemas.all import BODIES
from workbell.http.service import Service
from workbell.http.shortcut import Application
from workbell.version import __version__

DESCRIPTION = """Everything that Workbell can do, over HTTP.

Send a token as `Authorization: Bearer wb_…`; `workbell tokens create` makes one. Times are RFC 3339 in UTC, lists come
in pages (`next` is the cursor of the next one), errors are `application/problem+json`. A create may carry an
`Idempotency-Key`: the same key makes nothing twice.
"""


def make_app(service: Service) -> FastAPI:
    """The API of a service, below /api/v1, and beside it the health checks, the metrics and the sockets."""

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        yield
        await service.close()

    app = Application(
        title="Workbell",
        version=__version__,
        description=DESCRIPTION,
        docs_url=None,  # the framework's pages load scripts from elsewhere
        redoc_url=None,
        openapi_url=None,
        lifespan=lifespan,
        separate_input_output_schemas=False,
        # The framework's own would store the bodies of requests that it refuses.
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    app.state.service = service
    for routes in ROUTES:
        app.router.routes.extend(routes.listed)
        for route in routes.listed:
            app.shorten(route, service)
    app.router.routes.extend([*PLAIN_ROUTES, *SOCKET_ROUTES, *PAGE_ROUTES])
    app.add_exception_handler(WorkbellError, problems.on_workbell_error)
    app.add_exception_handler(RequestValidationError, problems.on_invalid)
    app.add_exception_handler(pydantic.ValidationError, problems.on_invalid)
    app.add_exception_handler(HTTPException, _on_http)
    app.add_exception_handler(ClientDisconnect, problems.on_gone)
    app.add_exception_handler(Exception, problems.on_crash)
    app.openapi = lambda: openapi(app)  # type: ignore[method-assign]
    app.add_middleware(Gate, service=service)
    return app


async def _on_http(request: Request, error: Exception) -> Response:
    """A page for a browser that asks for an address that there is not, a problem for everybody else."""
    if isinstance(error, HTTPException) and error.status_code == 404 and wants_page(request):
        return await unknown(request)
    return await problems.on_http(request, error)


def openapi(app: FastAPI) -> dict[str, Any]:
    """The page that describes the API, made once."""
    if app.openapi_schema is None:
        page = get_openapi(
            title=app.title,
            version=app.version,
            description=app.description,
            routes=app.routes,
            openapi_version="3.1.0",
        )
        components = page.setdefault("components", {})
        schemas = components.setdefault("schemas", {})
        for model in BODIES:
            schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
            for name, inner in schema.pop("$defs", {}).items():
                schemas.setdefault(name, inner)
            schemas.setdefault(model.__name__, schema)
        for unused in ("HTTPValidationError", "ValidationError"):
            schemas.pop(unused, None)
        components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer", "description": "A token."}}
        app.openapi_schema = page
    return app.openapi_schema


__all__ = ["PREFIX", "make_app", "openapi"]
