"""The front page: who is signed in, and where to go on."""

from __future__ import annotations

from html import escape

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from workbell.errors import Forbidden, TooMany, Unauthorized
from workbell.http.pages.login import log_in
from workbell.http.pages.page import page, style
from workbell.http.pages.reference import reference
from workbell.http.problems import status_of
from workbell.http.service import service_of
from workbell.version import __version__

NOBODY = "<p>You are not signed in: <code>workbell tokens url</code> prints an address that signs you in, once.</p>"


async def front(request: Request) -> Response:
    """Sign in with the token of a printed URL, or say where things are."""
    service, root = service_of(request), escape(request.scope.get("root_path", ""))
    text = request.query_params.get("token")
    try:
        if text is not None and request.method == "GET":  # who only looks whether there is a page uses nothing up
            return await log_in(service, request, text)
        access = await service.access_of(request)
        scopes = ", ".join(sorted(access.scopes)) or "no scopes"
        who = f"<p>You are signed in: {escape(access.actor)}, {escape(scopes)}.</p>"
        status = 200
    except (Unauthorized, Forbidden, TooMany) as error:
        who, status = NOBODY, 200
        if text is not None:
            who, status = f"<p>{escape(str(error))}</p>", status_of(error)
    address = escape(str(request.base_url).rstrip("/"))
    body = f"""<h1>Workbell</h1><p class="faint">{escape(__version__)}</p>{who}
<h2>The API</h2>
<p><a href="{root}/docs">Every route</a> · <a href="{root}/openapi.json">OpenAPI</a> ·
<a href="{root}/healthz">healthz</a> · <a href="{root}/readyz">readyz</a></p>
<p>A program needs a token: <code>workbell tokens create --scope operate</code>. Then:</p>
<pre><code>curl {address}/api/v1/runs -H "Authorization: Bearer $TOKEN" \\
  -d '{{"job": "send", "input": {{"to": "a@b.c"}}}}'</code></pre>"""
    return page(request, "Workbell", body, status)


PAGE_ROUTES: list[BaseRoute] = [
    Route("/", front),
    Route("/docs", reference),
    Route("/page.css", style),
]
