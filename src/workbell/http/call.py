"""Request context: one authorised request, with the client of its tenant."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from starlette.requests import HTTPConnection, Request

from workbell.client.local import LocalClient
from workbell.http.open_limits import HeldBy
from workbell.model.access import Access

if TYPE_CHECKING:
    from workbell.http.service import Service

KNOWN = "workbell.known"  # in the scope of a request that was let in: with a valid token, or by the hook


class ApiCall:
    """Context of a request: its caller, tenant and client."""

    __slots__ = ("access", "client", "request", "service", "subject", "tenant")

    def __init__(self, service: Service, request: Request, access: Access, tenant: str, client: LocalClient) -> None:
        self.service = service
        self.request = request
        self.access = access
        self.tenant = tenant
        self.client = client
        self.subject = ""  # what was made, for the audit log; else it is what the path names

    @property
    def is_operator(self) -> bool:
        """Whether the caller may act for the tenant of the program, and so see what concerns all tenants."""
        return self.access.may_act_for(self.service.client.tenant)

    @property
    def who(self) -> HeldBy:
        """The caller, as what it holds open is counted."""
        return HeldBy.caller(self.tenant, self.access)

    @property
    def address(self) -> str | None:
        """Address of the caller, if the connection has one."""
        return address_of(self.request)


def address_of(connection: HTTPConnection) -> str | None:
    return None if connection.client is None else connection.client.host


@contextmanager
def departure(request: Request) -> Iterator[asyncio.Future[None]]:
    """A future that is done when the caller has closed the connection. The body must have been read."""
    leaving = asyncio.ensure_future(_leave(request))
    try:
        yield leaving
    finally:
        leaving.cancel()


async def _leave(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def call_of(request: Request) -> ApiCall:
    """The call that a request was let in as."""
    call: ApiCall = request.scope["workbell.call"]
    return call
