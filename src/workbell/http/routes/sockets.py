"""Tickets for the WebSocket `/ws`, and the way there."""

from __future__ import annotations

import time

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute

from workbell.http.framework.call import ApiCall
from workbell.http.framework.operations import Served
from workbell.http.framework.problems import problem
from workbell.http.sockets.endpoint import Sockets
from workbell.http.sockets.tickets import make_ticket
from workbell.wire import sockets
from workbell.wire.sockets import TicketShown

served = Served()


@served(sockets.make)
async def make(call: ApiCall) -> TicketShown:
    call.service.ticket_rates.check(call.tenant, call.access, time.monotonic())
    made = await make_ticket(call.client, call.access)
    assert made.token.expires_at is not None
    return TicketShown(ticket=made.text, expires_at=made.token.expires_at)


async def _no_upgrade(_request: Request) -> Response:
    detail = "Connect to it with ws:// or wss://: with a session, an Authorization header, or as `/ws?ticket=…`."
    return problem(426, "UpgradeRequired", "This is a WebSocket.", detail, {"Upgrade": "websocket"})


SOCKET_ROUTES: list[BaseRoute] = [WebSocketRoute("/ws", Sockets()), Route("/ws", _no_upgrade)]
