"""Server side of a WebSocket, with a way to cut off a client that does not read.

Closing politely means to send what is left, which with such a client takes for ever. So the close frame is put behind
what is left, and a moment later the connection is gone, whatever has become of that.
"""

from __future__ import annotations

import logging
from typing import Any

from uvicorn._types import ASGISendEvent
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request

from workbell.http.sockets.wire import CUT

PATIENCE = 5.0  # seconds between the close frame and the end
AT_THE_END = 0.5  # the same, when the server stops


log = logging.getLogger("workbell.http.protocol")
log.setLevel(logging.WARNING)  # below that, the libraries write whole URLs, with their tickets


class SocketProtocol(WebSocketsSansIOProtocol):
    """Offers the application the extension `workbell.cut`, and logs no tickets."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.logger = self.conn.logger = log
        self.conn.debug = False

    def handle_connect(self, event: Request) -> None:
        super().handle_connect(event)
        if self.response.status_code == 101:  # the application runs in a task, and has not begun
            extensions: dict[str, Any] = dict(self.scope["extensions"] or {})
            self.scope["extensions"] = extensions | {CUT: self.cut}

    async def send(self, message: ASGISendEvent) -> None:
        await super().send(message)
        if self.initial_response is not None and self.close_sent:
            self.handshake_complete = True  # it was refused; without this uvicorn logs an error for each

    def cut(self, code: int, reason: str) -> None:
        """Close without waiting for the client."""
        if self.close_sent or self.transport.is_closing():
            return
        self.queue.put_nowait({"type": "websocket.disconnect", "code": code, "reason": reason})
        self.conn.send_close(code, reason)
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = True
        if self.read_paused:  # its answer is awaited
            self.read_paused = False
            self.transport.resume_reading()
        self.close_timer = self.loop.call_later(PATIENCE, self.transport.abort)

    def shutdown(self) -> None:
        super().shutdown()
        self.loop.call_later(AT_THE_END, self.transport.abort)
