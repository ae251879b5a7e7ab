"""Web server: where it listens, and how it stops at once although streams are open."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Iterator

import uvicorn

from workbell.errors import SettingsError
from workbell.http.app import make_app
from workbell.http.binding import BACKLOG, check_open, forget_running, note_running
from workbell.http.policies.connections import Accepting, Edge, EdgeProtocol, SocketProtocol
from workbell.http.service import Service
from workbell.model.client_address import TrustedProxies

log = logging.getLogger("workbell.http")

FRAME = 64 * 1024  # bytes of one message on a socket
LAST_WORDS = 0.2  # seconds for the goodbyes to sockets and to the store
LAST_ANSWERS = 0.5  # seconds that requests have to end, when we are stopped


TICKS = 10  # of uvicorn's main loop, a tenth of a second each, between two checks of the deadlines


class WebServer(uvicorn.Server):
    """uvicorn server that leaves the signals to us, and enforces the deadlines of connections."""

    def __init__(self, config: uvicorn.Config, proxies: TrustedProxies) -> None:
        super().__init__(config)
        self.server_state = self.edge = Edge(proxies=proxies)

    async def on_tick(self, counter: int) -> bool:
        if counter % TICKS == 0:
            self.check(asyncio.get_running_loop().time())
        return await super().on_tick(counter)

    def check(self, now: float) -> None:
        """Close connections whose clients are late."""
        for connection in list(self.edge.connections):
            if isinstance(connection, EdgeProtocol):
                connection.check(now)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Listening:
    """A server that listens, on the event loop of its creator."""

    def __init__(self, service: Service, sock: socket.socket) -> None:
        check_open(service.settings, sock.getsockname()[0])  # the app may have other settings than who bound it
        self.service = service
        self.port: int = sock.getsockname()[1]
        self._socket = sock
        config = uvicorn.Config(
            make_app(service),
            log_config=None,
            access_log=False,
            server_header=False,
            http=EdgeProtocol,
            backlog=BACKLOG,
            ws=SocketProtocol,
            ws_max_size=FRAME,
            ws_per_message_deflate=False,
            timeout_graceful_shutdown=1,
            lifespan="on",
            proxy_headers=False,  # http_trusted_proxies does it, also where another server serves us
        )
        self.server = WebServer(config, service.proxies)
        self._accepting = Accepting()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start the server; returns once requests are answered."""
        self._accepting.begin(asyncio.get_running_loop())
        self._task = asyncio.create_task(self.server.serve(sockets=[self._socket]))
        while not self.server.started:
            if self._task.done():
                self._task.result()
                raise SettingsError("The HTTP server ended as it started; the log says why.")
            await asyncio.sleep(0.005)

    def note(self) -> None:
        """Note in the store where this is, for those who want to sign in."""
        note_running(self.service.client.store, self._socket)

    async def stop(self) -> None:
        """Stop accepting requests; end streams, sockets and long polls, and cut what does not end."""
        if self._task is None:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORDS):
                await self.service.client.runtime.hop(forget_running, self.service.client.store)
        self.service.stop()
        await self._end_sockets()
        self.server.should_exit = True
        done, _ = await asyncio.wait({self._task}, timeout=LAST_ANSWERS)
        if not done:
            self.server.force_exit = True
            await asyncio.wait({self._task}, timeout=LAST_ANSWERS)
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self.service.close()
        self._socket.close()
        self._accepting.end()

    async def _end_sockets(self) -> None:
        """Send sockets our close frame, before the server closes what is left with its own."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORDS):
                while len(self.service.hub):
                    await asyncio.sleep(0.005)
