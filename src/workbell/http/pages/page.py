"""Layout of every page: frame, style, and Content-Security-Policy."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from html import escape
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

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
