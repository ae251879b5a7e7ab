"""Fast path past the framework for routes with a fixed path, such as an enqueue.

What FastAPI does around a route (three layers of middleware, the search for the route among a hundred, two stacks for
dependencies) takes longer than an enqueue itself. A route that takes nothing but the request, at a path without
parameters, needs none of it: it is found in a dict, behind the same gate and the same guard, with the same errors.
"""

from __future__ import annotations

from typing import Any

import pydantic
from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from workbell.errors import WorkbellError
from workbell.http import problems
from workbell.http.middleware import Gate
from workbell.http.routing import Guarded
from workbell.http.service import Service


class Application(FastAPI):
    """FastAPI, and beside it the routes that are reached directly, by method and path."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.direct: dict[tuple[str, str], ASGIApp] = {}

    def shorten(self, route: Guarded, service: Service) -> None:
        """Reach a route directly, if it can be."""
        if route.is_direct and "{" not in route.path:
            for method in route.methods or ():
                self.direct[method, route.path] = Gate(_Direct(self, route), service)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            path = scope["path"].removeprefix(scope.get("root_path", ""))
            direct = self.direct.get((scope["method"], path))
            if direct is not None:
                await direct(scope, receive, send)
                return
        await super().__call__(scope, receive, send)


class _Direct:
    """One such route, and its errors as problems."""

    def __init__(self, app: Application, route: Guarded) -> None:
        self._app = app
        self._route = route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope.update(app=self._app, route=self._route, path_params={})
        try:
            await self._route.app(scope, receive, send)
        except ClientDisconnect:
            return  # there is nobody to answer
        except Exception as error:  # noqa: BLE001  whatever it is, it is answered
            answer = await _answer(Request(scope, receive, send), error)
            await answer(scope, receive, send)


async def _answer(request: Request, error: Exception) -> Response:
    match error:
        case WorkbellError():
            return await problems.on_workbell_error(request, error)
        case pydantic.ValidationError():
            return await problems.on_invalid(request, error)
        case HTTPException():
            return await problems.on_http(request, error)
        case _:
            return await problems.on_crash(request, error)
