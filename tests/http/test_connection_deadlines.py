"""Bounds of the server for strangers: what they send is bounded in bytes, in time and in connections."""

from __future__ import annotations

import logging
import socket
from collections.abc import AsyncIterator, Iterator, MutableMapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.http.conftest import Api
from tests.support.fresh_store import fresh_store
from tests.support.inside.http import OPEN_LIMIT, EdgeProtocol
from tests.support.inside.http import http_connections as connections
from tests.support.inside.http import http_server as server
from tests.support.inside.values import Settings
from tests.support.served import DEADLINE, Served, served
from tests.support.waiting import until
from workbell import Workbell

LIMIT = 2 * 1024 * 1024  # of bodies, below the default
PAIR = b"POST /api/v1/agents/pair HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
HALF_HEADERS = b"GET / HTTP/1.1\r\nX: "
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Caller:
    """A client's end of a connection, by hand."""

    def __init__(self, site: Served, message: bytes = b"", **options: int) -> None:
        self.socket = socket.socket()
        for name, value in options.items():
            self.socket.setsockopt(socket.SOL_SOCKET, getattr(socket, name), value)
        self.socket.settimeout(DEADLINE)
        self.socket.connect(address(site))
        self.socket.sendall(message)
        own = self.socket.getsockname()[1]
        found = until(lambda: site.call(_find, site, own), "the server to have the connection")
        assert found is not None
        self.protocol = found
        self._sent = 0
        self.say(b"", len(message))

    def say(self, message: bytes, before: int = 0) -> None:
        """Send, until the server has it."""
        self.socket.sendall(message)
        self._sent += len(message) + before
        until(lambda: self.protocol._received >= self._sent, "the server to read it")

    def status(self) -> int:
        """Of the next answer, whose body is read too."""
        answer = b""
        while b"\r\n\r\n" not in answer:
            part = self.socket.recv(4096)
            assert part, "the connection was closed"
            answer += part
        head, _, body = answer.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        while len(body) < length:
            body += self.socket.recv(4096)
        return int(head.split()[1])

    @property
    def is_closed(self) -> bool:
        """Whether the server closed it; waits until it did."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True


def address(site: Served) -> tuple[str, int]:
    host, _, port = site.host.partition(":")
    return host, int(port)


def _find(site: Served, port: int) -> EdgeProtocol | None:
    for one in site.server.edge.connections:
        if isinstance(one, EdgeProtocol) and one.client is not None and one.client[1] == port:
            return one
    return None


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A server that looks at its deadlines only where a test says what time it is."""
    monkeypatch.setattr(server, "TICKS", 10**9)
    bell = Workbell(store=fresh_store(), settings=Settings(http_port=0, http_body_limit=LIMIT, storage=str(tmp_path)))
    with served(bell) as made:
        yield made
    bell.close()


@pytest.fixture
def token(site: Served) -> bytes:
    return site.bell.tokens.create(scopes=["operate"]).text.encode()


def after(site: Served, seconds: float) -> None:
    """Look at the deadlines, and again so many seconds later."""
    now = 1000.0
    site.call(site.server.check, now)
    site.call(site.server.check, now + seconds)


def asking(token: bytes, path: str) -> bytes:
    return b"GET /api/v1%b HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %b\r\n\r\n" % (path.encode(), token)


def upload(token: bytes, length: int) -> bytes:
    return (
        b"POST /api/v1/files?filename=a HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %b\r\n"
        b"Content-Length: %d\r\n\r\n" % (token, length)
    )


# Bytes


def test_a_request_with_two_lengths_is_refused_and_the_connection_closed(site: Served) -> None:
    """Behind a proxy that goes by the other one, the rest of the body would be a request of somebody else."""
    two = (
        b"POST /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    )
    with closing(socket.create_connection(address(site), timeout=DEADLINE)) as caller:
        caller.sendall(two + HEALTH)
        heard = b"".join(iter(lambda: caller.recv(4096), b""))
    assert heard.startswith(b"HTTP/1.1 400 ")
    assert b"both Content-Length and Transfer-Encoding" in heard
    assert heard.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize(
    "message",
    [
        PAIR + b"Content-Length: %d\r\n\r\n" % (OPEN_LIMIT + 1),
        PAIR + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n" % (OPEN_LIMIT + 1, b"a" * (OPEN_LIMIT + 1)),
    ],
    ids=["declared", "chunked"],
)
def test_a_stranger_sends_16_kib_at_the_most(site: Served, message: bytes) -> None:
    assert Caller(site, message).status() == 413


def test_who_has_a_token_sends_as_much_as_the_setting_says(site: Served, token: bytes) -> None:
    caller = Caller(site, upload(token, OPEN_LIMIT * 4))
    caller.socket.sendall(b"a" * OPEN_LIMIT * 4)
    assert caller.status() == 201
    too_much = Caller(site, upload(token, LIMIT + 1))
    assert too_much.status() == 413


# Time


def test_headers_have_a_deadline_however_they_drip(site: Served) -> None:
    silent, half = Caller(site), Caller(site, HALF_HEADERS)
    after(site, connections.HEADERS - 0.1)
    half.say(b"a")
    assert not half.protocol.transport.is_closing()
    after(site, connections.HEADERS)
    assert silent.is_closed
    assert half.is_closed


def test_the_headers_of_a_later_request_have_a_deadline_too(site: Served) -> None:
    caller = Caller(site, HEALTH)
    assert caller.status() == 200
    after(site, connections.HEADERS)  # idle: that is uvicorn's affair, which closes it after five seconds
    assert not caller.protocol.transport.is_closing()
    caller.say(HALF_HEADERS)
    after(site, connections.HEADERS)
    assert caller.is_closed


def test_the_body_of_a_stranger_has_a_deadline_however_it_drips(site: Served) -> None:
    caller = Caller(site, PAIR + b"Content-Length: 1000\r\n\r\n{")
    site.call(site.server.check, 1000.0)
    for second in range(1, int(connections.BODY)):
        caller.say(b"a" * 50)
        site.call(site.server.check, 1000.0 + second)
    assert not caller.protocol.transport.is_closing()
    site.call(site.server.check, 1000.0 + connections.BODY)
    assert caller.is_closed


def test_the_rest_of_a_body_that_was_refused_has_a_deadline(site: Served) -> None:
    caller = Caller(site, PAIR + b"Content-Length: 100000\r\n\r\n{")
    assert caller.status() == 413
    after(site, connections.BODY)
    assert caller.is_closed


def test_a_slow_upload_with_a_token_may_take_as_long_as_it_needs(site: Served, token: bytes) -> None:
    """137 bytes a second are enough; who sends less than that is cut."""
    parts = 20
    caller = Caller(site, upload(token, connections.BODY_LEAST * parts))
    until(lambda: caller.protocol.is_known, "the token to be checked")
    for number in range(parts - 1):
        after_that = 1000.0 + number * (connections.BODY_WINDOW + 1)
        site.call(site.server.check, after_that)
        caller.say(b"a" * connections.BODY_LEAST)
    caller.socket.sendall(b"a" * connections.BODY_LEAST)
    assert caller.status() == 201


def test_a_stalled_upload_with_a_token_is_cut(site: Served, token: bytes) -> None:
    caller = Caller(site, upload(token, 1_000_000) + b"a" * 100_000)
    until(lambda: caller.protocol.is_known, "the token to be checked")
    until(lambda: not caller.protocol.flow.read_paused, "the body to be read")
    site.call(site.server.check, 1000.0)
    caller.say(b"a" * (connections.BODY_LEAST - 1))
    site.call(site.server.check, 1000.0 + connections.BODY_WINDOW)
    assert caller.is_closed


def test_a_client_that_does_not_take_its_answer_is_cut(site: Served) -> None:
    asked = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
    caller = Caller(site, asked * 20, SO_RCVBUF=4096)
    transport = caller.protocol.transport
    until(lambda: caller.protocol.flow.write_paused, "the answer to be stuck")
    site.call(site.server.check, 1000.0)
    assert not transport.is_closing()
    site.call(site.server.check, 1000.0 + connections.TAKE)
    assert transport.is_closing()


def test_a_request_that_is_being_answered_has_no_deadline(site: Served, token: bytes) -> None:
    @site.bell.job
    def later() -> None: ...

    run = later.options(delay=3600).enqueue()
    caller = Caller(site, asking(token, f"/runs/{run.id}?wait=60"))
    until(lambda: site.service.measured.busy, "the wait to begin")
    after(site, 3600)
    assert not caller.protocol.transport.is_closing()


# Connections


def test_one_address_has_so_many_strangers_and_new_ones_are_served(
    site: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(connections, "STRANGERS_OF_ADDRESS", 3)
    with caplog.at_level(logging.WARNING, "workbell.http"):
        waiting = [Caller(site, HALF_HEADERS) for _ in range(3)]
        served_too = []
        for oldest in waiting:
            served_too.append(Caller(site, HEALTH))
            assert served_too[-1].status() == 200
            assert oldest.is_closed
    assert [one.getMessage() for one in caplog.records] == [
        "there are too many connections without a valid token; the oldest one was closed (once)"
    ]


def test_who_has_shown_a_token_is_no_stranger(site: Served, token: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many people behind one address, or a proxy: they are not held against each other."""
    monkeypatch.setattr(connections, "STRANGERS_OF_ADDRESS", 2)
    ask = asking(token, "/jobs")
    people = []
    for _ in range(6):
        people.append(Caller(site, ask))
        assert people[-1].status() == 200
    for one in people:
        one.socket.sendall(HEALTH)
        assert one.status() == 200


def test_clients_of_a_trusted_proxy_are_not_held_against_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "STRANGERS_OF_ADDRESS", 2)
    monkeypatch.setattr(server, "TICKS", 10**9)
    bell = Workbell(store=fresh_store(), settings=Settings(http_port=0, http_trusted_proxies=("127.0.0.1",)))
    try:
        with served(bell) as site:
            waiting = [Caller(site, HALF_HEADERS) for _ in range(4)]
            assert Caller(site, HEALTH).status() == 200
            assert not any(one.protocol.transport.is_closing() for one in waiting)
    finally:
        bell.runtime.close()
        bell.store.close()


def test_a_server_that_is_full_says_so(site: Served, token: bytes) -> None:
    ask = asking(token, "/jobs")
    site.server.edge.most = 2
    people = [Caller(site, ask), Caller(site, ask)]
    assert [one.status() for one in people] == [200, 200]
    with closing(socket.create_connection(address(site), timeout=DEADLINE)) as caller:
        heard = b"".join(iter(lambda: caller.recv(4096), b""))
    assert heard.startswith(b"HTTP/1.1 503 ")
    assert b"urn:workbell:error:ServiceUnavailable" in heard
    people[0].socket.close()
    until(lambda: len(site.server.edge.connections) < 2, "the server to see that one is gone")
    assert Caller(site, HEALTH).status() == 200


# What is logged


def test_a_refused_handshake_is_no_error(site: Served, caplog: pytest.LogCaptureFixture) -> None:
    ask = (
        b"GET /ws?ticket=x HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    with caplog.at_level(logging.INFO), closing(socket.create_connection(address(site), timeout=30)) as caller:
        caller.sendall(ask)
        heard = b"".join(iter(lambda: caller.recv(4096), b""))
        until(lambda: not site.server.server_state.tasks, "the handshake to be over")
    assert heard.startswith(b"HTTP/1.1 403 ")
    assert [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING] == []


# Mounted in another server, which need not keep to the declared length


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 413),
        ({"Content-Length": "1"}, 413),
        ({"Content-Length": "9" * 5000}, 413),
        ({"Content-Length": "0" * 5000 + "1"}, 413),
        ({"Content-Length": "1", "Transfer-Encoding": "chunked"}, 400),
    ],
    ids=["chunked", "wrong length", "length of many digits", "length of many zeros", "both"],
)
async def test_a_mounted_application_counts_bodies_too(api: Api, headers: dict[str, str], status: int) -> None:
    async def parts() -> AsyncIterator[bytes]:
        for _ in range(OPEN_LIMIT // 1024 + 1):
            yield b" " * 1024

    answer = await api.nobody.send("POST", "/agents/pair", content=parts(), headers=headers)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers.get("connection") == ("close" if status == 400 else None)


@pytest.mark.anyio
async def test_a_body_that_no_header_announces_is_counted(api: Api) -> None:
    """HTTP/2 needs neither a length nor chunks."""
    sent, statuses = 0, list[int]()

    async def receive() -> dict[str, object]:
        nonlocal sent
        sent += 1024
        return {"type": "http.request", "body": b" " * 1024, "more_body": sent < 100 * OPEN_LIMIT}

    async def send(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    path = "/api/v1/agents/pair"
    scope = {"type": "http", "http_version": "2", "method": "POST", "path": path, "raw_path": path.encode()}
    headers = [(b"host", b"localhost")]
    await api.app(scope | {"query_string": b"", "headers": headers, "root_path": "", "scheme": "https"}, receive, send)
    assert statuses == [413]
    assert sent <= OPEN_LIMIT + 1024
