"""The client on a real network: certificates are checked, a silent server is given up on, a fork starts afresh."""

from __future__ import annotations

import asyncio
import os

import pytest

from tests.remote.conftest import Scene
from tests.support.certificates import Authority
from tests.support.inside.remote import tries
from tests.support.receiver import Reader, Writer, receiving
from workbell import Client, ServiceUnavailable

EMPTY = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 24\r\n\r\n{"items":[],"next":null}'


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tries, "FIRST_PAUSE", 0.0)


@pytest.mark.anyio
async def test_a_certificate_that_nobody_vouches_for_gets_no_token() -> None:
    authority = Authority()
    async with receiving(EMPTY, authority.serving("localhost")) as receiver:
        async with Client(f"https://localhost:{receiver.port}", "wb_x", tls=authority.trusting()) as client:
            assert await client.apauses() == []
        sent = len(receiver.requests)
        async with Client(f"https://localhost:{receiver.port}", "wb_x") as client:
            with pytest.raises(ServiceUnavailable, match=r"(?i)certificate"):
                await client.apauses()
        assert len(receiver.requests) == sent == 1


@pytest.mark.anyio
async def test_a_server_that_says_nothing_is_given_up_on() -> None:
    async def silence(reader: Reader, _writer: Writer) -> None:
        await reader.read()

    async with receiving(silence) as receiver, Client(f"http://127.0.0.1:{receiver.port}", timeout=0.05) as client:
        with pytest.raises(ServiceUnavailable, match="no answer in time, 3 times"):
            await client.apauses()
    assert receiver.connections == 3


def test_nobody_listens() -> None:
    with Client("http://127.0.0.1:1") as client:
        with pytest.raises(ServiceUnavailable, match=r"127\.0\.0\.1:1: no connection"):
            client.pauses()
        with pytest.raises(ServiceUnavailable, match=r"127\.0\.0\.1:1: no connection"):
            asyncio.run(client.apauses())
        with pytest.raises(ServiceUnavailable, match=r"127\.0\.0\.1:1: no connection"):
            client.wait("0" * 32, timeout=0.5)  # though a wait that has begun goes on without the service
        with pytest.raises(ServiceUnavailable, match=r"127\.0\.0\.1:1: no connection"):
            asyncio.run(client.await_("0" * 32, timeout=0.5))


def test_one_client_serves_many_event_loops(scene: Scene) -> None:
    with Client(scene.url, scene.token) as client:
        for _ in range(3):
            assert asyncio.run(client.aruns(tag="none")) == []


def test_a_forked_child_has_connections_of_its_own(scene: Scene) -> None:
    with Client(scene.url, scene.token) as client:
        assert client.runs(tag="none") == []
        ours = client.transport.pool._sync
        child = os.fork()
        if child == 0:
            os._exit(0 if client.transport.pool._sync is None else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert client.transport.pool._sync is ours
