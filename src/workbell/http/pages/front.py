"""Pages: the dashboard for signed-in browsers, the sign-in page for others, and the reference of the API."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from workbell.errors import Forbidden, TooMany, Unauthorized, WorkbellError
from workbell.http.dashboard.assets import asset
from workbell.http.dashboard.shell import screen_routes, shell
from workbell.http.framework.problems import error_headers, status_of
from workbell.http.pages.login import log_in, log_in_with
from workbell.http.service import service_of
from workbell.model.access import Access
from workbell.wire.openapi import openapi
from workbell.wire.operation import PREFIX

# Nothing but our own style and our own form: no script, no image, no frame.
POLICY = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"


def page(
    request: Request, title: str, body: str, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """A page; `body` is HTML, its parts escaped by who made it."""
    root = escape(request.scope.get("root_path", ""))
    text = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="stylesheet" href="{root}/page.css"></head><body><main>{body}</main></body></html>'
    )
    # With no referrer at all, a browser would send the form without its Origin.
    own = {"Content-Security-Policy": POLICY, "Referrer-Policy": "same-origin"}
    return HTMLResponse(text, status, headers={**(headers or {}), **own})


async def style(_request: Request) -> Response:
    return Response(_style(), media_type="text/css", headers={"Cache-Control": "max-age=3600"})


@cache
def _style() -> str:
    return files("workbell.http.pages").joinpath("page.css").read_text("utf-8")


DEEPEST = 4  # schemas within schemas


async def reference(request: Request) -> Response:
    root = request.scope.get("root_path", "")
    return await service_of(request).pages.answer(
        request, f"reference {root}", lambda: page(request, "The API of Workbell", _body(openapi()))
    )


def _body(description: dict[str, Any]) -> str:
    groups: dict[str, list[str]] = defaultdict(list)
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            groups[operation["tags"][0]].append(_operation(description, path, method, operation))
    links = " · ".join(f'<a href="#{escape(name)}">{escape(name)}</a>' for name in groups)
    intro = "".join(f"<p>{_marked(part)}</p>" for part in description["info"]["description"].strip().split("\n\n"))
    parts = [f'<h2 id="{escape(name)}">{escape(name)}</h2>' + "".join(listed) for name, listed in groups.items()]
    return f"<h1>The API of Workbell</h1>{intro}<p>{links}</p>" + "".join(parts)


def _operation(description: dict[str, Any], path: str, method: str, operation: dict[str, Any]) -> str:
    words = [operation["summary"], *operation.get("description", "").split("\n\n")]
    text = "".join(f"<p>{_marked(part)}</p>" for part in words)
    parameters = (_resolved(description, one) for one in operation.get("parameters", ()))
    rows = [_row(one["name"], one.get("schema", {}), one.get("description", "")) for one in parameters]
    asked = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    answered = next(iter(operation["responses"].items()))
    shown = answered[1].get("content", {}).get("application/json", {}).get("schema")
    table = f"<table><tr><th>parameter</th><th>type</th><th></th></tr>{''.join(rows)}</table>" if rows else ""
    return (
        f'<h3 id="{escape(operation["operationId"])}"><span class="verb">{method.upper()}</span> '
        f"<code>{escape(path)}</code></h3>{text}{table}"
        + (f'<p class="faint">Body</p>{_schema(description, asked)}' if asked else "")
        + (f'<p class="faint">Answer {escape(answered[0])}</p>{_schema(description, shown)}' if shown else "")
    )


def _resolved(description: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    """The component that a part refers to, or the part itself."""
    if "$ref" not in part:
        return part
    _, _, kind, name = part["$ref"].split("/")
    found: dict[str, Any] = description["components"][kind][name]
    return found


def _row(name: str, schema: dict[str, Any], text: str) -> str:
    return f"<tr><td><code>{escape(name)}</code></td><td>{escape(_kind(schema))}</td><td>{_marked(text)}</td></tr>"


def _kind(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_kind(one) for one in schema["anyOf"]))
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    kinds = schema.get("type", "any")
    if isinstance(kinds, list):
        return " or ".join(_kind({**schema, "type": kind}) if kind != "null" else kind for kind in kinds)
    return str(schema.get("format", kinds))


def _schema(description: dict[str, Any], schema: dict[str, Any]) -> str:
    return (
        f"<pre><code>{escape(json.dumps(_example(description, schema, 0), indent=2, ensure_ascii=False))}</code></pre>"
    )


def _example(description: dict[str, Any], schema: dict[str, Any], depth: int) -> Any:
    """Something that fits: what the schema names as an example, else the kinds of its fields."""
    if "$ref" in schema:
        return _example(description, _resolved(description, schema), depth)
    if schema.get("examples"):
        return schema["examples"][0]
    if "properties" in schema and depth < DEEPEST:
        return {name: _example(description, one, depth + 1) for name, one in schema["properties"].items()}
    if schema.get("type") == "array" and depth < DEEPEST:
        return [_example(description, schema.get("items", {}), depth + 1)]
    return _kind(schema)


def _marked(text: str) -> str:
    """Plain text with `code` in it."""
    parts = escape(text).split("`")
    return "".join(f"<code>{part}</code>" if index % 2 else part for index, part in enumerate(parts))


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
