"""Front page: the dashboard for signed-in browsers, the sign-in page for others."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from workbell.errors import Forbidden, TooMany, Unauthorized, WorkbellError
from workbell.http.dashboard.assets import asset
from workbell.http.dashboard.shell import screen_routes, shell
from workbell.http.framework.problems import error_headers, status_of
from workbell.http.pages.login import log_in, log_in_with
from workbell.http.pages.page import page, style
from workbell.http.pages.reference import reference
from workbell.http.service import service_of
from workbell.model.access import Access
from workbell.wire.operation import PREFIX

NOBODY = "You are not signed in."
LONGEST = 4096  # bytes of a form
PASTED, PRINTED = "token", "url_token"  # fields of the forms: a token of one's own, and that of a sign-in URL


async def front(request: Request) -> Response:
    """The dashboard if signed in; the page with the button for a sign-in URL; a POST signs in."""
    if request.method == "POST":
        return await sign_in(request)
    service = service_of(request)
    text = request.query_params.get("token") if request.url.path.endswith("/") else None
    try:
        access = await service.access_of(request)
    except (Unauthorized, TooMany) as error:
        if text is not None:
            return confirmation(request, text, None)
        return door(request, NOBODY) if isinstance(error, Unauthorized) else refusal(request, error)
    except Forbidden as error:
        return refusal(request, error)
    return await shell(request) if text is None else confirmation(request, text, access)


def wants_page(request: Request) -> bool:
    """Whether a browser asks for a page, and not a program for an answer of the API."""
    path: str = request.scope["path"].removeprefix(request.scope.get("root_path", ""))
    return (
        request.method in ("GET", "HEAD")
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
    return await shell(request, 404)


async def sign_in(request: Request) -> Response:
    """Sign in with the token of a form: pasted at the door, or of a sign-in URL."""
    service, form = service_of(request), await _form(request)
    try:
        if PRINTED in form:
            return await log_in(service, request, form[PRINTED])
        return await log_in_with(service, request, form.get(PASTED, ""))
    except (Unauthorized, Forbidden, TooMany) as error:
        return refusal(request, error)


async def _form(request: Request) -> dict[str, str]:
    """The fields of a form. A body larger than ours are is not read: anybody may send one."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LONGEST:
            return {}
    return {name: "".join(texts).strip() for name, texts in parse_qs(body.decode("utf-8", "replace")).items()}


def confirmation(request: Request, text: str, access: Access | None) -> Response:
    """The page of a sign-in URL. It has a button, and to show it changes nothing."""
    root = escape(request.scope.get("root_path", ""))
    before = (
        ""
        if access is None
        else f"<p>This browser is signed in already ({escape(access.actor)}); the new session takes its place.</p>"
    )
    body = f"""<h1>Sign in to Workbell</h1>
<p>This address signs in one browser, once.</p>{before}
<form method="post" action="{root}/"><input type="hidden" name="{PRINTED}" value="{escape(text)}">
<p><button autofocus>Sign in</button></p></form>"""
    return page(request, "Workbell: sign in", body)


def refusal(request: Request, error: WorkbellError) -> Response:
    """The door, with the reason why nobody was let in."""
    return door(request, str(error), status_of(error), error_headers(error))


def door(request: Request, says: str, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    root = escape(request.scope.get("root_path", ""))
    public = service_of(request).public
    address = escape(str(request.base_url).rstrip("/") if public is None else public.address)
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
    return page(request, "Workbell: sign in", body, status, headers)


PAGE_ROUTES: list[BaseRoute] = [
    Route("/", front, methods=["GET", "POST"]),
    Route("/docs", reference),
    Route("/page.css", style),
    Route("/static/{digest}/{path:path}", asset),
    *screen_routes(front),
]
