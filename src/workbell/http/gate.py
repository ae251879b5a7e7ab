"""Around every request: the limit of its body, the headers of its answer, its line in the log, its count.

Plain ASGI and not the framework's middleware, which would cost as much as a whole route does.
"""

from __future__ import annotations

import logging
import time
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from workbell.errors import TooLarge
from workbell.http.call import Call
from workbell.http.problems import of_error
from workbell.http.service import Service

log = logging.getLogger("workbell.http")

QUIET = ("/healthz", "/readyz", "/metrics")
HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
]


class Gate:
    """Wraps the application."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service
        self._limit = service.settings.http_body_limit
        self._logs_all = service.settings.http_log == "all"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        self._service.be_here()
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        status = 500
        self._service.measured.busy += 1

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = _with_headers(message["headers"])
            await send(message)

        try:
            declared = _declared_length(scope)
            if declared is not None and declared > self._limit:
                await of_error(self._too_large())(scope, receive, answer)
                return
            reading = receive if declared is not None else self._counted(receive)
            await self._app(scope, reading, answer)
        finally:
            self._service.measured.busy -= 1
            self._note(scope, status, time.perf_counter() - began)

    def _too_large(self) -> TooLarge:
        return TooLarge(
            f"The body is larger than {self._limit:,} bytes (the setting http_body_limit); send less at once."
        )

    def _counted(self, receive: Receive) -> Receive:
        """A body whose length nobody has declared is counted as it comes."""
        size = 0

        async def counted() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > self._limit:
                raise self._too_large()
            return message

        return counted

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "")
        self._service.measured.count(scope["method"], route, status, seconds)
        quiet = status < 400 and (not self._logs_all or scope["path"] in QUIET)
        if quiet or not log.isEnabledFor(logging.INFO):
            return
        # The path alone: a query may hold a ticket, and a line break of one could forge a line.
        facts: dict[str, Any] = {"status": status, "duration_s": round(seconds, 4)}
        call: Call | None = scope.get("workbell.call")
        if call is not None:
            facts |= {"tenant": call.tenant, "actor": call.access.actor}
        level = logging.ERROR if status >= 500 else logging.INFO
        log.log(level, "%s %s", scope["method"], _shown(scope["path"]), extra=facts)


def _shown(path: str) -> str:
    return path if path.isprintable() else ascii(path)[1:-1]


def _declared_length(scope: Scope) -> int | None:
    chunked = False
    for name, value in scope["headers"]:
        if name == b"content-length":
            return int(value) if value.isdigit() else None
        chunked = chunked or name == b"transfer-encoding"
    return None if chunked else 0


def _with_headers(headers: Any) -> list[tuple[bytes, bytes]]:
    found = list(headers)
    present = {name for name, _ in found}
    return found + [pair for pair in HEADERS if pair[0] not in present]
