"""HTML page of the dashboard: names its script and style, and the path prefix of the service. No inline script."""

from __future__ import annotations

import re
from html import escape
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from workbell.http.dashboard.assets import load_assets
from workbell.http.dashboard.bundle import EARLY

# Our own files and our own service, nothing else: what a hostile name or log line could bring in is refused anyway.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# The line of a screen in `screens.js`. The overview is at "/", so its path is empty.
SCREEN = re.compile(r'^  \{ path: "([a-z-]+)",', re.MULTILINE)


def _screens() -> tuple[str, ...]:
    """First parts of the paths that are screens: `screens.js` is the one list of them."""
    return tuple(SCREEN.findall((files(__package__) / "static" / "screens.js").read_text("utf-8")))


SCREENS = _screens()


async def shell(request: Request, status: int = 200) -> Response:
    """The page, wherever the service is mounted. With `?debug` it loads every module and style by itself in a
    checkout; a wheel has the bundles alone."""
    root = escape(request.scope.get("root_path", ""))
    known = await load_assets()
    base = f"{root}/static/{known.digest}"
    script, styles = known.of_page(single="debug" in request.query_params)
    links = "".join(f'<link rel="stylesheet" href="{base}/{path}">' for path in styles)
    text = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Workbell</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="workbell-root" content="{root}">'
        f'<link rel="icon" href="{base}/bell.svg" type="image/svg+xml">{links}'
        f'<script src="{base}/{EARLY}"></script>'
        f'<script type="module" src="{base}/{script}"></script></head>'
        '<body><div id="app"><p class="loading">Loading …</p></div>'
        "<noscript><p>The dashboard needs JavaScript. The command line shows the same: <code>workbell --help</code>."
        "</p></noscript></body></html>"
    )
    return HTMLResponse(text, status, headers={"Content-Security-Policy": POLICY, "Cache-Control": "no-store"})


def screen_routes(endpoint: object) -> list[BaseRoute]:
    """A path for each screen, and for what lies below it; what is sent there is the form of the door."""
    paths = [path for name in SCREENS for path in (f"/{name}", f"/{name}/{{rest:path}}")]
    return [Route(path, endpoint, methods=["GET", "POST"]) for path in paths]  # type: ignore[arg-type]
