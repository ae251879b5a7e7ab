"""`GET /ws`: Host, Origin and access are checked before the WebSocket is accepted; and tickets for it.

A browser is known by its session cookie or by the application's hook, a program by its Authorization header, and code
in a browser that has nothing but a token by a ticket.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import Receive, Scope, Send

from workbell.errors import Forbidden, TooMany, WorkbellError
from workbell.http.framework.call import ApiCall
from workbell.http.framework.operations import Served
from workbell.http.framework.problems import log_failure, of_error, on_http, problem
from workbell.http.policies.access_watch import ask_hook, hook_end
from workbell.http.policies.origins import host_is_allowed, origin_is_allowed
from workbell.http.service import Service, service_of
from workbell.http.sockets.tickets import make_ticket, use_ticket
from workbell.http.sockets.wire import Gone, Wire
from workbell.model.access import Access
from workbell.model.audit import ActorKind
from workbell.wire import sockets
from workbell.wire.sockets import TicketShown


class Admitted(NamedTuple):
    """Access of a client, and the tenant that its connection is for."""

    access: Access
    tenant: str


class Sockets:
    """The ASGI application behind `/ws`."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        wire = Wire(scope, receive, send)
        service = service_of(wire.request)
        try:
            access, tenant = await admit(service, wire.request)
        except WorkbellError as error:
            log_failure(error)
            await wire.refuse(of_error(error))
            return
        except HTTPException as error:  # of the application's hook
            await wire.refuse(await on_http(wire.request, error))
            return
        try:
            await wire.accept()
            await service.hub.serve(wire, access, service.client_of(tenant))
        except Gone:
            return


async def admit(service: Service, request: HTTPConnection) -> Admitted:
    """Access of a WebSocket client, and the tenant that it is for."""
    headers = request.headers
    if not host_is_allowed(headers.get("host"), service.hosts):
        raise Forbidden("The Host header names no host of this service; the setting http_hosts lists them.")
    if not origin_is_allowed(headers.get("origin"), headers.get("host"), service.hosts, service.public):
        raise service.foreign_page()
    if service.stopping.is_set():
        raise TooMany("The server stops; connect again in a moment.")
    ticket = request.query_params.get("ticket")
    if ticket is not None:
        return await _by_ticket(service, request, ticket)
    access = await service.access_of(request)
    service.check_rate(access)
    return Admitted(access, service.tenant_of(request, access))


async def _by_ticket(service: Service, request: HTTPConnection, ticket: str) -> Admitted:
    access = await use_ticket(service.client, ticket)
    if access is None:
        service.count_failure(request)
        raise Forbidden(
            "The ticket is not valid: it is good for half a minute, and once. POST /api/v1/sockets/tickets."
        )
    if access.token is None and service.auth is not None:  # its maker was let in by the hook, which is asked again
        if hook_end(access, await ask_hook(service.auth, request)) is not None:
            raise Forbidden(
                "The application that made this ticket does not know this connection, or knows another user; send its "
                "cookie or header with it, or make the ticket with a token."
            )
        access = msgspec.structs.replace(access, kind=ActorKind.APP)
    return Admitted(access, access.tenant)


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
