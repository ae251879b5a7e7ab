"""The session of a browser: it begins with a sign-in URL (`pages/login.py`), and ends here."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from workbell.http.call import call_of
from workbell.http.pages.login import log_out
from workbell.http.routing import Routes

routes = Routes("session")


@routes.add("DELETE", "/session", needs=None, status=204)
async def end(request: Request) -> Response:
    """Sign out: end the session of this browser."""
    return await log_out(call_of(request).service, request)
