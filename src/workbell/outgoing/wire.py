"""HTTP request over a connection of its own to one of the checked addresses.

This is the network layer of httpx2 without the client above it: no redirects, cookies, proxies, netrc or
decompression that would have to be switched off, and no second reading of the URL. Only `send` imports this file,
and only when something is sent.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Mapping, Sequence
from contextlib import aclosing
from functools import cache
from typing import Any

import httpcore2
from httpcore2 import AsyncNetworkBackend, AsyncNetworkStream

from workbell.outgoing.target import Target

BODY_LIMIT = 64 * 1024
# With all headers: an answer that never ends costs no more than this.
WIRE_LIMIT = 256 * 1024
# Of a name with hundreds of addresses only the first are tried: nobody shall use us to scan all of them.
MOST_ADDRESSES = 4

FAILURES = (httpcore2.NetworkError, httpcore2.TimeoutException, httpcore2.ProtocolError, OSError)


@cache
def default_tls() -> ssl.SSLContext:
    """The certificates that this machine trusts; SSL_CERT_FILE and SSL_CERT_DIR name others.

    Made once for a process: to read them all takes longer than to send.
    """
    return httpcore2.default_ssl_context()


async def request(
    target: Target,
    addresses: Sequence[str],
    body: bytes,
    headers: Mapping[str, str],
    tls: ssl.SSLContext,
    timeout: float,
) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    """POST the body; status, headers and at most BODY_LIMIT bytes of the answer."""
    network = _Pinned(addresses, timeout)
    url = httpcore2.URL(
        scheme=target.scheme.encode(), host=target.host.encode(), port=target.port, target=target.path.encode()
    )
    own = {
        "host": target.authority,
        "accept-encoding": "identity",
        "connection": "close",
        "content-length": str(len(body)),
    }
    sent = [(name.encode(), value.encode()) for name, value in (own | dict(headers)).items()]
    connection = httpcore2.AsyncHTTPConnection(url.origin, ssl_context=tls, network_backend=network)
    try:
        response = await connection.handle_async_request(httpcore2.Request(b"POST", url, headers=sent, content=body))
        received = bytearray()
        async with aclosing(response.aiter_stream()) as parts:
            async for part in parts:
                received += part
                if len(received) >= BODY_LIMIT:
                    break
        return response.status, response.headers, bytes(received[:BODY_LIMIT])
    finally:
        await network.close()


class _Pinned(AsyncNetworkBackend):
    """Connects to the checked addresses and to nothing else, whichever host it is asked for.

    TLS and the Host header still go by the name in the URL, for that is what the certificate is issued for.
    """

    def __init__(self, addresses: Sequence[str], timeout: float) -> None:
        self._addresses = addresses[:MOST_ADDRESSES]
        # An address that does not answer must leave time for the next; the last may use what is left.
        self._share = timeout / (len(self._addresses) + 1)
        self._network = httpcore2.AnyIOBackend()
        self._stream: AsyncNetworkStream | None = None

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> AsyncNetworkStream:
        failure: Exception | None = None
        for address in self._addresses:
            share = None if address is self._addresses[-1] else self._share
            try:
                self._stream = await self._network.connect_tcp(address, port, timeout=share)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
            else:
                return _Limited(self._stream)
        raise failure or httpcore2.ConnectError("no address")

    async def close(self) -> None:
        """Close the connection in any case: a cancelled handshake leaves the socket open."""
        if self._stream is not None:
            await self._stream.aclose()


class _Limited(AsyncNetworkStream):
    """A stream that ends the connection when more was read than the limit."""

    def __init__(self, stream: AsyncNetworkStream) -> None:
        self._stream = stream
        self._received = 0

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        data = await self._stream.read(max_bytes, timeout)
        self._received += len(data)
        if self._received > WIRE_LIMIT:
            raise httpcore2.RemoteProtocolError("the answer is too long")
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> AsyncNetworkStream:
        return _Limited(await self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
