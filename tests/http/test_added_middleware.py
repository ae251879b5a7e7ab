"""Middleware that an application adds to `bell.asgi()` is around every route."""

from __future__ import annotations

import httpx2
import pytest
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.http.conftest import Api, Caller
from tests.support.inside.wire import OPERATIONS

pytestmark = pytest.mark.anyio


class Refusing:
    """Refuses every request, as an allow-list of addresses would."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await Response(status_code=451)(scope, receive, send)
        else:
            await self._app(scope, receive, send)


async def test_no_route_goes_past_it(api: Api) -> None:
    app = api.bell.asgi()
    app.add_middleware(Refusing)
    assert len(OPERATIONS) > 50
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://localhost") as http:
        caller = Caller(http, api.root.text)
        answers = {
            operation.name: (await caller.send(operation.method, operation.path)).status_code
            for operation in OPERATIONS
        }
    assert {name: status for name, status in answers.items() if status != 451} == {}
