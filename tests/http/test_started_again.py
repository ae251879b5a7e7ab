"""An application that is started again after its end, each time on an event loop of its own, as test clients do."""

from __future__ import annotations

import asyncio
import socket

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from tests.support.fresh_store import fresh_store
from tests.support.inside.features import Role
from tests.support.inside.http import Order
from tests.support.inside.values import Settings
from workbell import ServiceUnavailable, SettingsError, Workbell


def test_a_mounted_application_can_be_started_again() -> None:
    bell = Workbell(store=fresh_store(), settings=Settings())

    @bell.job
    def work() -> None: ...

    app = FastAPI(lifespan=bell.lifespan)
    app.mount("/jobs", bell.asgi())
    headers = {"Authorization": f"Bearer {bell.tokens.create(scopes=['operate']).text}"}
    for _ in range(2):
        with TestClient(app, headers=headers) as http:
            assert http.get("/jobs/readyz").status_code == 200
            made = http.post("/jobs/api/v1/runs", json={"job": "work"}).json()
            assert http.get(f"/jobs/api/v1/runs/{made['id']}?wait=30").json()["status"] == "succeeded"
            assert "event: end" in http.get(f"/jobs/api/v1/runs/{made['id']}/stream").text
    bell.close()


def test_what_comes_after_the_end_is_answered() -> None:
    bell = Workbell(store=fresh_store(), settings=Settings())

    @bell.job
    def work() -> None: ...

    async def late() -> None:
        service = bell._service()
        await service.close()
        with pytest.raises(ServiceUnavailable):
            await asyncio.wait_for(service.enqueue_groups.put(bell, [Order("work", None, {})]), 30)

    asyncio.run(late())
    bell.close()


def test_nothing_is_worked_on_where_the_api_is_refused() -> None:
    bell = Workbell(store=fresh_store(), settings=Settings(http_auth="none"))
    with socket.socket() as anywhere:
        anywhere.bind(("0.0.0.0", 0))
        with pytest.raises(SettingsError, match="http_auth"):
            asyncio.run(bell.host.serve(Role(None, None), http=anywhere))
    assert bell.host.running is None
    bell.close()
