"""Middleware of every request: body limit, response headers, compression, access log, request count.

This is the part of the edge that also holds where `bell.asgi()` is mounted in another server. Deadlines and bounds on
connections (`policies/connections.py`) are of our own server alone.

Plain ASGI and not the framework's middleware, which would cost as much as a whole route does.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from workbell.errors import TooLarge
from workbell.http.framework.call import CALL, KNOWN, ApiCall, request_headers
from workbell.http.framework.compression import Compressing, accepts_gzip
from workbell.http.framework.problems import of_error, problem
from workbell.http.policies.origins import is_of_this_machine
from workbell.http.policies.session_cookie import COOKIE
from workbell.http.service import Service
from workbell.model.client_address import TrustedProxies, client_address
from workbell.model.public_url import PublicUrl

log = logging.getLogger("workbell.http")

DIGITS = 20  # of a length that are read: Python refuses to convert thousands of them
OPEN_LIMIT = 16 * 1024  # bytes of the body of a request that came without a valid token

# What comes by itself, and often: at info it would bury the lines about runs (an open page asks 100 times a minute).
ROUTINE = ("/healthz", "/readyz", "/metrics", "/agents/self/poll", "/agents/self/heartbeat")
SESSION = COOKIE.encode()  # with a prefix, or with a port behind it
HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
]
# A year. Without `includeSubDomains`: what else the domain has is not ours.
HSTS = (b"strict-transport-security", b"max-age=31536000")


class Framing(NamedTuple):
    """How the headers announce the body of a request."""

    declared: int  # bytes; 0 where no length can be read
    is_ambiguous: bool  # by a length and in chunks
    may_have_body: bool


class Gate:
    """Wraps the application."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service
        self._limit = service.settings.http_body_limit
        self._logs_all = service.settings.http_log == "all"
        self._headers = dict([*HEADERS, HSTS] if _is_for_https_alone(service.public) else HEADERS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        self._service.be_here()
        if self._service.proxies.networks:
            apply_forwarded(scope, self._service.proxies)
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        status = 500
        is_head = scope["method"] == "HEAD"
        self._service.measured.busy += 1

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = _with_headers(message["headers"], self._headers)
            elif is_head:
                message = {**message, "body": b""}
            await send(message)

        answering = Compressing(answer) if accepts_gzip(scope) else answer
        try:
            framing = _framing(scope)
            if framing.is_ambiguous:
                await _ambiguous()(scope, receive, answer)
            elif framing.declared > self._limit:
                await of_error(self._too_large(self._limit))(scope, receive, answer)
            else:
                reading = self._counted(scope, receive, framing.declared) if framing.may_have_body else receive
                await self._app(scope, reading, answering)
        finally:
            self._service.measured.busy -= 1
            self._note(scope, status, time.perf_counter() - began)
        scope.pop(CALL, None)  # which names the scope: else each request would stay until the garbage collector comes

    def _too_large(self, limit: int) -> TooLarge:
        why = "the setting http_body_limit" if limit == self._limit else "as many as are read without a valid token"
        return TooLarge(f"The body is larger than {limit:,} bytes ({why}); send less at once.")

    def _counted(self, scope: Scope, receive: Receive, declared: int) -> Receive:
        """A body that is counted as it comes: not every server enforces the declared length."""
        size = 0

        async def counted() -> Message:
            nonlocal size
            limit = self._limit if KNOWN in scope else min(OPEN_LIMIT, self._limit)
            if declared > limit:
                raise self._too_large(limit)
            message = await receive()
            size += len(message.get("body", b""))
            if size > limit:
                raise self._too_large(limit)
            return message

        return counted

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "")
        self._service.measured.count(scope["method"], route, status, seconds)
        if status < 400 and not self._logs_all:
            return
        level = logging.ERROR if status >= 500 else logging.INFO
        if status < 400 and _is_routine(scope):
            level = logging.DEBUG
        if not log.isEnabledFor(level):
            return
        # The path alone: a query may hold a ticket, and a line break of one could forge a line.
        facts: dict[str, Any] = {"status": status, "duration_s": round(seconds, 4)}
        call: ApiCall | None = scope.get(CALL)
        if call is not None:
            facts |= {"tenant": call.tenant, "actor": str(call.access.who)}
        log.log(level, "%s %s", scope["method"], _shown(scope["path"]), extra=facts)


def _is_for_https_alone(public: PublicUrl | None) -> bool:
    """Not on localhost: browsers would ask every other program there over https as well, on all ports."""
    return public is not None and public.is_secure and not is_of_this_machine(public)


def _is_routine(scope: Scope) -> bool:
    """Health checks, polls of agents, files of the dashboard, and whatever an open page of it reads."""
    path = scope["path"].removeprefix(scope.get("root_path", ""))
    if path.endswith(ROUTINE) or path.startswith("/static/"):
        return True
    return scope["method"] in ("GET", "HEAD") and any(
        name == b"sec-fetch-mode" or (name == b"cookie" and SESSION in value) for name, value in scope["headers"]
    )


def _shown(path: str) -> str:
    return path if path.isprintable() else ascii(path)[1:-1]


def _framing(scope: Scope) -> Framing:
    """HTTP/1 announces a body in a header; later versions need not."""
    headers = request_headers(scope)
    length = headers.get(b"content-length")
    chunked = b"transfer-encoding" in headers
    return Framing(
        declared=int(length[:DIGITS]) if length is not None and length.isdigit() else 0,
        is_ambiguous=chunked and length is not None,
        may_have_body=chunked or length not in (None, b"0") or scope.get("http_version") not in ("1.0", "1.1"),
    )


def _ambiguous() -> Response:
    """A proxy may go by one of the two headers and this server by the other: what follows the body by the one is, by
    the other, a request of somebody else. RFC 9112 (6.1) has such a connection closed."""
    return problem(
        400,
        "InvalidRequest",
        "The request cannot be read.",
        "It has both Content-Length and Transfer-Encoding, so where it ends is not certain; send one of them.",
        {"Connection": "close"},
    )


def _with_headers(headers: Iterable[tuple[bytes, bytes]], added: Mapping[bytes, bytes]) -> list[tuple[bytes, bytes]]:
    found = list(headers)
    present = dict(found)
    if added.keys().isdisjoint(present):
        return [*found, *added.items()]
    return [*found, *(pair for pair in added.items() if pair[0] not in present)]


def apply_forwarded(scope: Scope, proxies: TrustedProxies) -> None:
    """Replace client and scheme by those of `X-Forwarded-For` and `X-Forwarded-Proto`, if the peer is trusted.

    All that follows reads them: rate limits, audit log, cookies, hooks of applications.
    """
    peer = scope.get("client")
    if peer is None or not proxies.trusts(peer[0]):
        return
    addresses, proto = [], ""
    for name, value in scope["headers"]:
        if name == b"x-forwarded-for":
            addresses.append(value.decode("latin-1"))
        elif name == b"x-forwarded-proto":
            proto = value.decode("latin-1").rpartition(",")[2].strip().lower()
    client = client_address(peer[0], ",".join(addresses), proxies)
    if client != peer[0]:
        scope["client"] = (client, 0)  # the port is not told
    if proto in ("http", "https"):
        scope["scheme"] = proto.replace("http", "ws") if scope["type"] == "websocket" else proto
