"""Bounds on what callers hold open over HTTP: streams, long waits and polls; and on how many tickets they make."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx2
import pytest

from tests.http.conftest import Api
from tests.support.inside.features import Agents
from tests.support.inside.http import Allowance, CallerRates, OpenLimit
from tests.support.inside.http import agent_routes as agents
from tests.support.inside.http import run_routes as runs
from tests.support.inside.values import Settings
from tests.support.served import Served, served
from tests.support.waiting import until
from workbell import Workbell

pytestmark = pytest.mark.anyio

FEW = OpenLimit("things", 2, 3, 100, "close one of them")


@asynccontextmanager
async def serving(url: str) -> AsyncIterator[tuple[Served, httpx2.AsyncClient, Any]]:
    """A server with a job that nobody works on, its HTTP client, and what makes the header of a caller."""
    with Workbell(settings=Settings(url=url, http_port=0)) as bell:

        @bell.job
        def rest() -> None: ...

        with served(bell) as server:

            def header(user: int, tenant: str = "a") -> dict[str, str]:
                text = bell.tokens.create(f"user {user}", scopes=["read"], tenant=tenant, user_id=user).text
                return {"Authorization": f"Bearer {text}"}

            base = f"{server.url}/api/v1"
            async with httpx2.AsyncClient(base_url=base, trust_env=False, timeout=30) as http:
                yield server, http, header


async def test_streams_of_a_caller_and_of_a_tenant_are_bounded(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "STREAMS", FEW)
    async with serving(sqlite_url) as (server, http, header):
        run, other = (server.bell.for_tenant(tenant).enqueue("rest") for tenant in ("a", "b"))
        path = f"/runs/{run.id}/stream"
        count = server.service.opened.streams
        async with AsyncExitStack() as stack:
            for user in (1, 1, 2):
                answer = await stack.enter_async_context(http.stream("GET", path, headers=header(user)))
                assert answer.status_code == 200
            refused = await http.get(path, headers=header(1))
            assert (refused.status_code, refused.headers["retry-after"]) == (429, "5")
            assert "You have 2 things open, as many as one caller may; close one of them" in refused.json()["detail"]
            refused = await http.get(path, headers=header(3))
            assert "Tenant a has 3 things open, as many as one tenant may" in refused.json()["detail"]
            path_of_other = f"/runs/{other.id}/stream"
            async with http.stream("GET", path_of_other, headers=header(1, "b")) as answer:
                assert answer.status_code == 200
        await asyncio.to_thread(until, lambda: not len(count), "the streams to be given back")


async def test_long_waits_are_bounded(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "WAITS", FEW)
    async with serving(sqlite_url) as (server, http, header):
        run = server.bell.for_tenant("a").enqueue("rest")
        count, mine = server.service.opened.waits, header(1)
        waits = [asyncio.create_task(http.get(f"/runs/{run.id}?wait=30", headers=mine)) for _ in range(2)]
        await asyncio.to_thread(until, lambda: len(count) == 2, "two to wait")
        refused = await http.get(f"/runs/{run.id}?wait=30", headers=mine)
        assert (refused.status_code, "You have 2 things open" in refused.json()["detail"]) == (429, True)
        assert (await http.get(f"/runs/{run.id}", headers=mine)).status_code == 200, "not to wait is free"
        server.bell.for_tenant("a").cancel(run.id)
        assert [answer.json()["status"] for answer in await asyncio.gather(*waits)] == ["canceled"] * 2
        assert not len(count)


async def test_polls_of_an_agent_are_bounded(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents, "POLLS", FEW)
    async with serving(sqlite_url) as (server, http, _):
        client = server.bell.for_tenant("a")
        verbs = Agents(client.runtime, client.verified, server.bell.settings.lease_span)
        _agent, text = verbs.pair(verbs.pairing("box")[1], host="h", version="1")
        headers = {"Authorization": f"Bearer {text}"}
        body = {"session": "s", "jobs": ["rest"], "capacity": 1, "wait": 30}
        polls = [asyncio.create_task(http.post("/agents/self/poll", json=body, headers=headers)) for _ in range(2)]
        count = server.service.opened.polls
        await asyncio.to_thread(until, lambda: len(count) == 2, "two to poll")
        refused = await http.post("/agents/self/poll", json=body, headers=headers)
        assert (refused.status_code, "You have 2 things open" in refused.json()["detail"]) == (429, True)
        for poll in polls:
            poll.cancel()
        await asyncio.gather(*polls, return_exceptions=True)


async def test_tickets_of_a_caller_and_of_a_tenant_have_a_rate(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Allowance(0.001, 2), Allowance(0.001, 3)
    monkeypatch.setattr(api.app.state.service.ticket_rates, "_rates", CallerRates(*slow))
    for _ in range(2):
        await api.reader.ask("POST", "/sockets/tickets", 201)
    told = await api.reader.ask("POST", "/sockets/tickets", 429)
    assert "asks for tickets faster than 5 a second" in told["detail"]
    assert "keep the sockets that are open" in told["detail"]
    await api.caller("read", user_id=8).ask("POST", "/sockets/tickets", 201)
    await api.caller("read", user_id=9).ask("POST", "/sockets/tickets", 429)
    await api.stranger.ask("POST", "/sockets/tickets", 201)
