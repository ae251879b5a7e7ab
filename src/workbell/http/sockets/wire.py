"""ASGI messages of a WebSocket: accept, send, refuse, cut."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

log = logging.getLogger("workbell.http")

CUT = "workbell.cut"  # offered by our own server, among the extensions of the scope
GOODBYE = 1.0  # seconds for the last word, where the server cannot cut

GOING_AWAY = 1001
REFUSED = 1008
TRY_AGAIN_LATER = 1013


def close_reason(text: str) -> str:
    """A reason that fits into a close frame, which has room for 123 bytes (RFC 6455, 5.5)."""
    return text.encode()[:123].decode("utf-8", "ignore")


class Gone(Exception):
    """The client is not there any more."""


class Wire:
    """The two directions of one WebSocket."""

    __slots__ = ("_receive", "_scope", "_send")

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._scope = scope
        self._receive = receive
        self._send = send

    @property
    def request(self) -> HTTPConnection:
        return HTTPConnection(self._scope)

    async def refuse(self, response: Response) -> None:
        """Answer the handshake with an error, where the server can; else it says 403 by itself."""
        # The path alone: the query has the ticket. At info: strangers must not fill the log with errors.
        log.info("WebSocket %s was refused", self._scope["path"], extra={"status": response.status_code})
        if "websocket.http.response" not in self._scope.get("extensions", {}):
            await self._send({"type": "websocket.close", "code": REFUSED})
            return
        headers = response.raw_headers
        start = {"type": "websocket.http.response.start", "status": response.status_code, "headers": headers}
        await self._send(start)
        await self._send({"type": "websocket.http.response.body", "body": bytes(response.body)})

    async def accept(self) -> None:
        message = await self._receive()
        if message["type"] != "websocket.connect":
            raise Gone
        await self._send({"type": "websocket.accept"})

    async def receive(self) -> str | bytes:
        """The next message of the client."""
        message = await self._receive()
        if message["type"] != "websocket.receive":
            raise Gone
        text = message.get("text")
        found: str | bytes = message["bytes"] if text is None else text
        return found

    async def send(self, text: str) -> None:
        """Send a message; waits while the client's buffer is full."""
        try:
            await self._send({"type": "websocket.send", "text": text})
        except OSError as error:
            raise Gone from error

    async def end(self, code: int, reason: str) -> None:
        """Send the close frame, without waiting for a client whose buffer is full."""
        cut: Callable[[int, str], None] | None = self._scope.get("extensions", {}).get(CUT)
        if cut is not None:
            cut(code, reason)
            return
        close: dict[str, Any] = {"type": "websocket.close", "code": code, "reason": reason}
        try:
            async with asyncio.timeout(GOODBYE):
                await self._send(close)
        except (OSError, RuntimeError, TimeoutError):
            return
