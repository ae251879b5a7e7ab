"""Deadlines of an HTTP/1.1 connection, for sending requests and for reading answers.

uvicorn has a deadline for idle connections alone. The others are enforced here by one check of each connection a
second (`check`), so that a request pays nothing for them.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from workbell.errors import ServiceUnavailable
from workbell.http.framework.call import KNOWN
from workbell.http.framework.problems import of_error
from workbell.http.policies.connection_limits import Edge

HEADERS = 10.0  # seconds for the headers of a request, from their first byte on, or from the connection
BODY = 10.0  # seconds for the body of a request without a valid token, and for one that is answered already
BODY_WINDOW, BODY_LEAST = 30.0, 4096  # with one: so many bytes in each such span of seconds
TAKE = 30.0  # seconds in which a client takes nothing of its answer

_FULL = bytes(of_error(ServiceUnavailable("The server has all the connections it may have; try again soon.")).body)
REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/problem+json\r\n"
    b"content-length: %d\r\nretry-after: 1\r\nconnection: close\r\n\r\n%b" % (len(_FULL), _FULL)
)


class Awaited(NamedTuple):
    """Next step that the client owes (send or read); its deadline runs while that stays the same."""

    what: str
    mark: object  # differs where it is the same of another request, or some of it has come
    seconds: float
    least: int = 0  # bytes; if they have come, time starts anew


class EdgeProtocol(H11Protocol):
    """A connection that counts within the bounds of the edge."""

    server_state: Edge

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._awaited: Awaited | None = None
        self._since = 0.0
        self._received = self._received_before = 0
        super().connection_made(transport)
        self.home = self.server_state.home_of(None if self.client is None else self.client[0])
        self.server_state.enter(self, self.loop.time())

    def connection_lost(self, exc: Exception | None) -> None:
        self.server_state.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._received += len(data)
        super().data_received(data)

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        self.server_state.leave(self)  # from now on the bounds of sockets hold
        super().handle_websocket_upgrade(event)

    # The bounds

    @property
    def is_known(self) -> bool:
        return self.cycle is not None and KNOWN in self.cycle.scope

    @property
    def is_waiting(self) -> bool:
        return self.cycle is None or self.cycle.response_complete or self.conn.their_state is h11.SEND_BODY

    def cut(self) -> None:
        self.connections.discard(self)
        self.transport.abort()

    def refuse(self) -> None:
        self.connections.discard(self)
        self.transport.write(REFUSAL)
        self.transport.close()

    # The deadlines

    def check(self, now: float) -> None:
        """Close the connection if the client is late. Called once a second."""
        awaited = self._await()
        if awaited is None or awaited != self._awaited:
            self._begin(awaited, now)
        elif now - self._since >= awaited.seconds:
            if awaited.least and self._received - self._received_before >= awaited.least:
                self._begin(awaited, now)
            else:
                self.server_state.slow.log(now)
                self.cut()

    def _begin(self, awaited: Awaited | None, now: float) -> None:
        self._awaited, self._since, self._received_before = awaited, now, self._received

    def _await(self) -> Awaited | None:
        """The step that is awaited of the client; none while it is the server's turn, or the connection is idle."""
        left = self.transport.get_write_buffer_size()
        if left:
            return Awaited("answer", left, TAKE)
        state = self.conn.their_state
        if state is h11.IDLE and self.timeout_keep_alive_task is None:
            return Awaited("headers", self.cycle, HEADERS)
        if state is h11.SEND_BODY and not self.flow.read_paused:
            if self.is_known and not self.cycle.response_complete:
                return Awaited("body", self.cycle, BODY_WINDOW, BODY_LEAST)
            return Awaited("body", self.cycle, BODY)
        return None
