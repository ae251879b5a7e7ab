"""WebSocket clients that speak bytes: handshakes with any headers, and one that never reads."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from tests.support.served import Served


async def never_reading(server: Served, ticket: str) -> socket.socket:
    """A client that subscribes and then takes nothing; with a small buffer, which is soon full."""
    loop = asyncio.get_running_loop()
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.setblocking(False)
    host, port = server.host.split(":")
    await loop.sock_connect(sock, (host, int(port)))
    await loop.sock_sendall(sock, request_of(server, ticket, {}))
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += await loop.sock_recv(sock, 1000)
    text = b'{"type":"subscribe","id":"a","topic":"notifications"}'
    await loop.sock_sendall(sock, bytes([0x81, 0x80 | len(text), 0, 0, 0, 0]) + text)  # masked with zeros
    return sock


async def closed_with(talk: Any, code: int) -> None:
    with pytest.raises(ConnectionClosed) as closed:
        await talk.hear_all()
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == code


async def handshake(server: Served, ticket: str, headers: dict[str, str]) -> int:
    """The status of the answer to a handshake with these headers."""
    reader, writer = await asyncio.open_connection(*server.host.split(":"))
    try:
        writer.write(request_of(server, ticket, headers))
        async with asyncio.timeout(30):
            return int((await reader.readline()).split()[1])
    finally:
        writer.close()
        await writer.wait_closed()


def request_of(server: Served, ticket: str, headers: dict[str, str]) -> bytes:
    all_of_them = {
        "Host": server.host,
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
        "Sec-WebSocket-Version": "13",
    } | headers
    lines = [f"GET /ws?ticket={ticket} HTTP/1.1", *(f"{name}: {value}" for name, value in all_of_them.items())]
    return "\r\n".join([*lines, "", ""]).encode()
