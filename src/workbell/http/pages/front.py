"""Front page: the dashboard for signed-in browsers, the sign-in page for others."""

from __future__ import annotations

from html import escape
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from workbell.errors import Forbidden, TooMany, Unauthorized
from workbell.http.dashboard.assets import asset
from workbell.http.dashboard.shell import screen_routes, shell
from workbell.http.pages.login import log_in, log_in_with
from workbell.http.pages.page import page, style
from workbell.http.pages.reference import reference
from workbell.http.problems import status_of
from workbell.http.routing import PREFIX
from workbell.http.service import service_of

NOBODY = "You are not signed in."
LONGEST = 4096  # bytes of a form


async def front(request: Request) -> Response:
    """Sign in with the token of a printed URL or of the form, or show the dashboard if signed in."""
    if request.method == "POST":
        return await sign_in(request)
    service = service_of(request)
    text = request.query_params.get("token") if request.url.path.endswith("/") else None
    try:
        if text is not None and request.method == "GET":  # HEAD must not use the ticket up
            return await log_in(service, request, text)
        await service.access_of(request)
    except (Unauthorized, Forbidden, TooMany) as error:
        if text is None and isinstance(error, Unauthorized):
            return door(request, NOBODY)
        return door(request, str(error), status_of(error))
    return shell(request)


def wants_page(request: Request) -> bool:
    """Whether a browser asks for a page, and not a program for an answer of the API."""
    path: str = request.scope["path"].removeprefix(request.scope.get("root_path", ""))
    return (
        request.method == "GET"
        and "text/html" in request.headers.get("accept", "")
        and not path.startswith((f"{PREFIX}/", "/api/", "/static/"))
    )


async def unknown(request: Request) -> Response:
    """The page for an address that there is not: inside the dashboard if signed in."""
    try:
        await service_of(request).access_of(request)
    except (Unauthorized, Forbidden, TooMany):
        root = escape(request.scope.get("root_path", ""))
        body = f'<h1>There is no such page</h1><p>Nothing is at this address. <a href="{root}/">Workbell</a></p>'
        return page(request, "Workbell: there is no such page", body, 404)
    return shell(request, 404)


async def sign_in(request: Request) -> Response:
    """Sign in with a token that was pasted into the form of the door; it is sent to the address that it stands at."""
    try:
        return await log_in_with(service_of(request), request, await _pasted(request))
    except (Unauthorized, Forbidden, TooMany) as error:
        return door(request, str(error), status_of(error))


async def _pasted(request: Request) -> str:
    """The token of the sign-in form. A body larger than the form is not read: anybody may send one."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LONGEST:
            return ""
    return "".join(parse_qs(body.decode("utf-8", "replace")).get("token", [])).strip()


def door(request: Request, says: str, status: int = 200) -> Response:
    root = escape(request.scope.get("root_path", ""))
    address = escape(str(request.base_url).rstrip("/"))
    body = f"""<h1>Workbell</h1>
<p role="status"><strong>{escape(says)}</strong></p>
<p>In the folder of the project, this command prints an address that signs you in, once:</p>
<pre><code>workbell tokens url</code></pre>
<form method="post">
<label for="token">Or paste a token (<code>workbell tokens create --scope read</code>):</label>
<p><input id="token" name="token" type="password" autocomplete="off" required maxlength="200" placeholder="wb_…">
<button>Sign in</button></p></form>
<h2>The API</h2>
<p><a href="{root}/docs">Every route</a> · <a href="{root}/openapi.json">OpenAPI</a> ·
<a href="{root}/healthz">healthz</a> · <a href="{root}/readyz">readyz</a></p>
<pre><code>curl {address}/api/v1/runs -H "Authorization: Bearer $TOKEN" \\
  -d '{{"job": "send", "input": {{"to": "a@b.c"}}}}'</code></pre>"""
    return page(request, "Workbell: sign in", body, status)


PAGE_ROUTES: list[BaseRoute] = [
    Route("/", front, methods=["GET", "POST"]),
    Route("/docs", reference),
    Route("/page.css", style),
    Route("/static/{digest}/{path:path}", asset),
    *screen_routes(front),
]
