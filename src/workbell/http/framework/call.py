"""Request context: one authorised request, with the client of its tenant; and the headers of a request as a dict."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import UNSET
from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.types import Receive, Scope

from workbell.client.local import LocalClient
from workbell.http.policies.open_limits import HeldBy
from workbell.model.access import Access
from workbell.wire.run_settings import RunSettingsBody
from workbell.wire.runs import RunBody

if TYPE_CHECKING:
    from workbell.http.service import Service


Owned = TypeVar("Owned", bound=RunBody | RunSettingsBody)

CALL = "workbell.call"  # in the scope of a request that is being answered
KNOWN = "workbell.known"  # in the scope of a request that was let in: with a valid token, or by the hook


class ApiCall:
    """Context of a request: its caller, tenant and client."""

    __slots__ = ("_content", "access", "client", "detail", "read_only", "request", "service", "subject", "tenant")

    def __init__(self, service: Service, request: Request, access: Access, tenant: str, client: LocalClient) -> None:
        self.service = service
        self.request = request
        self.access = access
        self.tenant = tenant
        self.client = client
        self._content: bytes | None = None
        self.read_only: Mapping[str, msgspec.Raw] = {}  # fields of the body that only show the thing
        self.subject = ""  # what was made, for the audit log, where neither the path nor a write of the store names it
        self.detail: dict[str, Any] = {}  # what was asked for, for the audit log, where its subject does not show it

    async def content(self) -> bytes:
        """The body of the request, read once."""
        if self._content is None:
            self._content = await _read(self.request.receive)
        return self._content

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body part by part, as it comes; at once, if it was read already."""
        if self._content is not None:
            yield self._content
            return
        async for chunk in self.request.stream():
            yield chunk

    @property
    def is_operator(self) -> bool:
        """Whether the caller may act for the tenant of the program, and so see what concerns all tenants."""
        return self.access.may_act_for(self.service.client.tenant)

    def owned(self, body: Owned) -> Owned:
        """A body whose `user_id` says whose runs they are, with the person that the caller may make them for."""
        if isinstance(body, RunSettingsBody) and body.user_id is None:
            return body  # nobody's, as it is read: the runs belong to whoever makes them
        asked = None if body.user_id is UNSET else body.user_id
        owner = self.access.owner(asked)
        return body if owner == asked else msgspec.structs.replace(body, user_id=owner)

    @property
    def who(self) -> HeldBy:
        """The caller, as what it holds open is counted."""
        return HeldBy.caller(self.tenant, self.access)

    @property
    def address(self) -> str | None:
        """Address of the caller, if the connection has one."""
        return caller_address(self.request)


async def _read(receive: Receive) -> bytes:
    """A body, which mostly comes in one message; Starlette's `Request.body` takes four times as long for that."""
    parts: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        if not message.get("more_body", False):
            last: bytes = message.get("body", b"")
            return b"".join([*parts, last]) if parts else last
        parts.append(message.get("body", b""))


def caller_address(connection: HTTPConnection) -> str | None:
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


CACHED = "workbell.headers"


def request_headers(scope: Scope) -> Mapping[bytes, bytes]:
    """Header values by their names in lower case; of a header that came several times, the first one.

    Made once: Starlette's `Headers` reads the whole list for each name.
    """
    found: Mapping[bytes, bytes] | None = scope.get(CACHED)
    if found is None:
        found = scope[CACHED] = dict(reversed(scope["headers"]))
    return found


def header_of(scope: Scope, name: bytes) -> str | None:
    """The text of one header, if it came."""
    value = request_headers(scope).get(name)
    return None if value is None else value.decode("latin-1")
