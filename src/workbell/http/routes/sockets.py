"""Tickets for the WebSocket `/ws`, and the way there."""

from __future__ import annotations

import time

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute

from workbell.http.answers import JsonResponse
from workbell.http.call import call_of
from workbell.http.problems import problem
from workbell.http.routing import Routes
from workbell.http.schemas.notifications import TicketShown
from workbell.http.sockets.endpoint import Sockets
from workbell.http.sockets.tickets import make_ticket

routes = Routes("sockets")


@routes.add("POST", "/sockets/tickets", needs=None, answers=TicketShown, status=201)
async def make(request: Request) -> Response:
    """Make a ticket for the WebSocket: open `/ws?ticket=…` with it, once, within half a minute.

    For code in a browser that has a token alone: with a session or a header, `/ws` needs no ticket. The connection may
    do what your token may, and ends when that is revoked.
    """
    call = call_of(request)
    call.service.ticket_rates.check(call.tenant, call.access, time.monotonic())
    made = await make_ticket(call.client, call.access)
    return JsonResponse({"ticket": made.text, "expires_at": made.token.expires_at}, 201)


async def _no_upgrade(_request: Request) -> Response:
    detail = "Connect to it with ws:// or wss://: with a session, an Authorization header, or as `/ws?ticket=…`."
    return problem(426, "UpgradeRequired", "This is a WebSocket.", detail, {"Upgrade": "websocket"})


SOCKET_ROUTES: list[BaseRoute] = [WebSocketRoute("/ws", Sockets()), Route("/ws", _no_upgrade)]
