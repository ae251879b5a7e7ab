"""WebSockets behind a proxy: the page is one of the public URL, whatever Host the proxy passes on."""

from __future__ import annotations

import pytest

from tests.integration.sockets.raw_client import handshake
from tests.support.fresh_store import fresh_store
from tests.support.inside.values import Settings
from tests.support.served import served
from workbell import Workbell

pytestmark = pytest.mark.anyio


async def test_only_a_page_of_the_public_url_is_let_in() -> None:
    bell = Workbell(store=fresh_store(), settings=Settings(http_port=0, http_public_url="https://jobs.example.com"))
    with served(bell) as server:
        ticket = server.ticket(1)
        for foreign in (f"http://{server.host}", "http://jobs.example.com", "https://evil.example"):
            assert await handshake(server, ticket, {"Origin": foreign}) == 403
        assert await handshake(server, ticket, {"Origin": "https://jobs.example.com"}) == 101
    bell.runtime.close()
