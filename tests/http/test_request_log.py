"""The log of requests: problems always, what an open page or an agent asks again and again never at info."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import msgspec
import pytest

from tests.http.conftest import Api, make_bell
from tests.support.inside.http import COOKIE, assets

pytestmark = pytest.mark.anyio


@pytest.fixture
async def api(tmp_path: Path, sqlite_url: str) -> AsyncIterator[Api]:
    bell = make_bell(sqlite_url, tmp_path)
    bell.settings = msgspec.structs.replace(bell.settings, http_log="all")
    app = bell.asgi()
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://localhost") as http,
    ):
        yield Api(bell, app, http)
    bell.runtime.close()
    bell.store.close()


def lines(caplog: pytest.LogCaptureFixture, level: int) -> list[str]:
    found = [record for record in caplog.records if record.name == "workbell.http" and record.levelno >= level]
    caplog.clear()
    return [f"{record.getMessage()} {record.__dict__['status']}" for record in found]


async def test_what_a_page_asks_for_by_itself_is_no_line(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "workbell.http")
    cookie = {"Cookie": f"{COOKIE}={api.session()}"}
    static = f"/static/{assets().digest}/main.js"
    for path, headers in (
        (static, {}),
        ("/healthz", {}),
        ("/api/v1/runs", cookie),
        ("/runs", cookie),
        ("/runs", {"Cookie": f"{COOKIE}_8321={api.session()}", "Host": "localhost:8321"}),
        ("/api/v1/runs", {"Authorization": f"Bearer {api.reader.text}", "Sec-Fetch-Mode": "cors"}),
    ):
        assert (await api.http.get(path, headers=headers)).status_code == 200
        assert lines(caplog, logging.INFO) == [], path
    assert (await api.http.get(static)).status_code == 200
    assert lines(caplog, logging.DEBUG) == [f"GET {static} 200"]


async def test_problems_and_what_programs_do_are_lines(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "workbell.http")
    await api.reader.ask("GET", "/runs")
    await api.maker.ask("POST", "/runs", 201, {"job": "send", "input": {"to": "x"}})
    assert lines(caplog, logging.INFO) == ["GET /api/v1/runs 200", "POST /api/v1/runs 201"]
    cookie = {"Cookie": f"{COOKIE}=wb_expired"}
    assert (await api.http.get("/api/v1/runs", headers=cookie)).status_code == 401
    assert (await api.http.get("/static/x/nothing.js")).status_code == 404
    assert lines(caplog, logging.INFO) == ["GET /api/v1/runs 401", "GET /static/x/nothing.js 404"]


async def test_polls_of_agents_are_no_lines(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "workbell.http")
    pairing = await api.admin.ask("POST", "/agents/pairings", 201, {"name": "web-1"})
    paired = await api.nobody.ask("POST", "/agents/pair", 201, {"token": pairing["token"]})
    lines(caplog, logging.INFO)
    agent = type(api.nobody)(api.http, paired["token"])
    await agent.ask("POST", "/agents/self/poll", 200, {})
    await agent.ask("POST", "/agents/self/heartbeat", 200, {"session": "s", "holding": []})
    assert lines(caplog, logging.INFO) == []
