"""`GET /ws?ticket=…`: Host, Origin and ticket are checked before the WebSocket is accepted."""

from __future__ import annotations

from starlette.requests import HTTPConnection
from starlette.types import Receive, Scope, Send

from workbell.errors import Forbidden, TooMany, WorkbellError
from workbell.http.origins import host_is_allowed, origin_is_allowed
from workbell.http.problems import of_error
from workbell.http.service import Service, service_of
from workbell.http.sockets.tickets import use_ticket
from workbell.http.sockets.wire import Gone, Wire
from workbell.model.access import Access


class Sockets:
    """The ASGI application behind `/ws`."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        wire = Wire(scope, receive, send)
        service = service_of(wire.request)
        try:
            access = await admit(service, wire.request)
        except WorkbellError as error:
            await wire.refuse(of_error(error))
            return
        try:
            await wire.accept()
            await service.hub.serve(wire, access, service.client_of(access.tenant))
        except Gone:
            return


async def admit(service: Service, request: HTTPConnection) -> Access:
    """Access by a ticket."""
    headers = request.headers
    if not host_is_allowed(headers.get("host"), service.hosts):
        raise Forbidden("The Host header names no host of this service; the setting http_hosts lists them.")
    if not origin_is_allowed(headers.get("origin"), headers.get("host"), service.hosts, service.public):
        raise service.foreign_page()
    if service.stopping.is_set():
        raise TooMany("The server stops; connect again in a moment.")
    access = await use_ticket(service.client, request.query_params.get("ticket", ""))
    if access is None:
        service.count_failure(request)
        raise Forbidden(
            "The ticket is not valid: it is good for half a minute, and once. POST /api/v1/sockets/tickets."
        )
    return access
