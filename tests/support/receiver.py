"""A real receiver of webhooks on this machine: what arrived, and any answer at all, also one no HTTP server gives."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

Reader, Writer = asyncio.StreamReader, asyncio.StreamWriter
Reply = Callable[[Reader, Writer], Awaitable[None]]

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@dataclass
class Arrived:
    """One request as it came over the wire."""

    method: str
    path: str
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        """The one value of a header; None if it was not sent."""
        values = [value for given, value in self.headers if given.lower() == name.lower()]
        assert len(values) <= 1, values
        return values[0] if values else None


@dataclass
class Receiver:
    """Where it listens, and everything that arrived."""

    reply: bytes | Reply = OK
    port: int = 0
    connections: int = 0
    requests: list[Arrived] = field(default_factory=list)
    names: list[str | None] = field(default_factory=list)  # of the hosts that TLS was asked for
    gone: asyncio.Event = field(default_factory=asyncio.Event)  # the other side has closed its connection

    async def serve(self, reader: Reader, writer: Writer) -> None:
        self.connections += 1
        try:
            self.requests.append(await read_request(reader))
            if isinstance(self.reply, bytes):
                writer.write(self.reply)
                await writer.drain()
            else:
                await self.reply(reader, writer)
            await reader.read()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self.gone.set()
            writer.close()


async def read_request(reader: Reader) -> Arrived:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.rstrip("\r\n").split("\r\n")
    method, path, _ = first.split(" ")
    headers = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    size = next((int(value) for name, value in headers if name.lower() == "content-length"), 0)
    return Arrived(method, path, headers, await reader.readexactly(size))


@asynccontextmanager
async def receiving(
    reply: bytes | Reply = OK, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1"
) -> AsyncIterator[Receiver]:
    """A receiver for as long as the block lasts."""
    receiver = Receiver(reply)
    if tls is not None:
        tls.sni_callback = lambda _sock, name, _context: receiver.names.append(name)
    server = await asyncio.start_server(receiver.serve, host, 0, ssl=tls)
    receiver.port = server.sockets[0].getsockname()[1]
    try:
        yield receiver
    finally:
        server.close()
