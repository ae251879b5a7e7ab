"""Connections of the server: how many there may be, deadlines of HTTP/1.1, sockets that are cut, errors of accept.

A stranger is a connection on which no request with a valid token has come yet. Where there are too many of them, the
one that has been waiting longest is closed and the new one is served: whoever holds connections open cannot keep
others out, and an honest client, which sends its request at once, is never the one that waits longest.
"""

from __future__ import annotations

import asyncio
import errno
import logging
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol

import h11
from uvicorn._types import ASGISendEvent
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState
from websockets.http11 import Request

from workbell.errors import ServiceUnavailable
from workbell.http.framework.call import KNOWN
from workbell.http.framework.problems import of_error
from workbell.http.policies.open_limits import most_connections
from workbell.http.sockets.wire import CUT
from workbell.logs.rate_limit import RateLimitedMessage
from workbell.model.client_address import TrustedProxies, network_of

log = logging.getLogger("workbell.http")

STRANGERS = 1000  # connections without a valid token, in all: each may hold about 100 KB
STRANGERS_OF_ADDRESS = 100
NO_PROXIES = TrustedProxies()


class Guest(Protocol):
    """A connection, as the bounds see it."""

    home: str | None  # the network it comes from; none for a trusted proxy, which stands for many clients

    @property
    def is_known(self) -> bool:
        """Whether it has brought a valid token."""

    @property
    def is_waiting(self) -> bool:
        """Whether the client has something to send before anything is answered."""

    def cut(self) -> None:
        """Close it now."""

    def refuse(self) -> None:
        """Answer that there are too many connections, and close it."""


class Edge(ServerState):
    """The connections of one server, which uvicorn's protocols share through this object."""

    def __init__(self, most: int | None = None, proxies: TrustedProxies = NO_PROXIES) -> None:
        super().__init__()
        self._proxies = proxies
        self.most = most_connections() if most is None else most
        self._strangers: dict[Guest, None] = {}  # in the order in which they came
        self._of_homes: dict[str | None, dict[Guest, None]] = {}
        self.slow = RateLimitedMessage(
            log, logging.INFO, "a connection was closed: its client sent or took nothing for too long"
        )
        self._crowded = RateLimitedMessage(
            log, logging.WARNING, "there are too many connections without a valid token; the oldest one was closed"
        )
        self._full = RateLimitedMessage(
            log,
            logging.WARNING,
            f"a connection was refused: there are {self.most:,}, all in use; a higher limit of open files "
            "(ulimit -n, LimitNOFILE) allows more",
        )

    def home_of(self, address: str | None) -> str | None:
        """The network that connections from an address are counted by."""
        return None if self._proxies.trusts(address) else network_of(address)

    def enter(self, guest: Guest, now: float) -> None:
        """Count a new connection as unauthenticated, and enforce the limits."""
        own = self._of_homes.setdefault(guest.home, {})
        own[guest] = self._strangers[guest] = None
        if guest.home is not None:
            self._make_room(own, guest, now, lambda: len(own) > STRANGERS_OF_ADDRESS)
        self._make_room(self._strangers, guest, now, self._is_full)

    def leave(self, guest: Guest) -> None:
        """Stop counting a connection: it is closed, or authenticated."""
        if guest in self._strangers:
            del self._strangers[guest]
            own = self._of_homes[guest.home]
            del own[guest]
            if not own:
                del self._of_homes[guest.home]

    def _is_full(self) -> bool:
        return len(self.connections) > self.most or len(self._strangers) > STRANGERS

    def _make_room(self, among: Iterable[Guest], newcomer: Guest, now: float, is_full: Callable[[], bool]) -> None:
        """Close the oldest unauthenticated connections; those that sent a token since only leave the count, here."""
        while newcomer in self._strangers and is_full():
            oldest = next(guest for guest in among if guest.is_known or guest.is_waiting)
            if oldest is newcomer:
                self._full.log(now)
                newcomer.refuse()
            elif not oldest.is_known:
                self._crowded.log(now)
                oldest.cut()
            self.leave(oldest)


# uvicorn has a deadline for idle connections alone. The others are enforced by one check of each connection a second
# (`EdgeProtocol.check`), so that a request pays nothing for them.

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


# Out of file descriptors, asyncio tries to accept every second, and logs each failure: with 2,048 connections waiting
# that were 65,267 lines, 40 MB, within ten seconds. Logged here once a minute.

SHORT_OF = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


class Accepting:
    """Takes this one error out of what an event loop reports; all else goes where it went before."""

    def __init__(self) -> None:
        self._seldom = RateLimitedMessage(
            log,
            logging.ERROR,
            "new connections wait: the process is out of file descriptors; raise its limit (ulimit -n, LimitNOFILE) "
            "or find out what keeps so many files open",
        )
        self._loop: asyncio.AbstractEventLoop | None = None
        self._before: Any = None

    def begin(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop, self._before = loop, loop.get_exception_handler()
        loop.set_exception_handler(self._on_error)

    def end(self) -> None:
        if self._loop is not None and self._loop.get_exception_handler() == self._on_error:
            self._loop.set_exception_handler(self._before)

    def _on_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, OSError) and error.errno in SHORT_OF and "socket" in context:
            self._seldom.log(loop.time())
        elif self._before is not None:
            self._before(loop, context)
        else:
            loop.default_exception_handler(context)


# A handshake at the end means to send what is left, which with a client that does not read takes for ever. So the close
# frame is put behind what is left, and a moment later the connection is gone.

PATIENCE = 5.0  # seconds between the close frame and the end
AT_THE_END = 0.5  # the same, when the server stops


socket_log = logging.getLogger("workbell.http.protocol")
socket_log.setLevel(logging.WARNING)  # below that, the libraries write whole URLs, with their tickets


class SocketProtocol(WebSocketsSansIOProtocol):
    """Offers the application the extension `workbell.cut`, and logs no tickets."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.logger = self.conn.logger = socket_log
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
