"""A server that stops: streams and waits end by themselves, nothing is cut, and nothing new is let in."""

from __future__ import annotations

import asyncio

import httpx2
import pytest

from tests.support.fresh_store import fresh_store
from tests.support.inside.http import Listening, bind
from tests.support.inside.values import Settings
from workbell import Workbell

pytestmark = pytest.mark.anyio


async def test_open_streams_and_long_waits_end_with_the_server() -> None:
    bell = Workbell(store=fresh_store(), settings=Settings(http_port=0))

    @bell.job
    def work() -> None: ...

    run = await work.options(delay=3600).aenqueue()
    token = (await bell.tokens.acreate(scopes=["operate"])).text
    listening = Listening(bell._service(listen="127.0.0.1"), bind(bell.settings))
    await listening.start()
    headers = {"Authorization": f"Bearer {token}"}
    base = f"http://127.0.0.1:{listening.port}/api/v1/runs/{run.id}"
    async with httpx2.AsyncClient(headers=headers, timeout=30, trust_env=False) as client:
        open_now = asyncio.Event()

        async def stream() -> bytes:
            heard = b""
            async with client.stream("GET", f"{base}/stream") as answer:
                async for part in answer.aiter_bytes():
                    heard += part
                    open_now.set()
            return heard  # only if the answer came to its proper end

        streaming = asyncio.create_task(stream())
        waiting = asyncio.create_task(client.get(base, params={"wait": 60}))
        await asyncio.wait_for(open_now.wait(), 30)
        while listening.service.measured.busy < 2:
            await asyncio.sleep(0)
        await asyncio.wait_for(listening.stop(), 30)
        assert (await streaming).startswith(b"event: run\n")
        assert (await waiting).json()["status"] == "scheduled"
        with pytest.raises(httpx2.ConnectError):
            await client.get(base)
    bell.close()
