"""The service behind a proxy: its public URL in cookies, headers and checks, and whose forwarded headers count."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI

from tests.support.fresh_store import fresh_store
from tests.support.inside.http import make_app
from tests.support.inside.values import Settings
from workbell import Workbell
from workbell.testing import ManualClock

pytestmark = pytest.mark.anyio

PROXY, OTHER = ("10.0.0.1", 1), ("192.0.2.9", 1)
URL = "https://jobs.example.com"


class Scene:
    """A Workbell with these settings, and browsers that reach it from one peer or another."""

    def __init__(self, clock: ManualClock, **settings: Any) -> None:
        self.bell = Workbell(store=fresh_store(clock), settings=Settings(**settings))
        self.token = self.bell.tokens.create("ada", scopes=["admin"]).text
        self.auth = {"Authorization": f"Bearer {self.token}"}
        self.app: Any = make_app(self.bell._service(listen="127.0.0.1"))

    @asynccontextmanager
    async def peer(
        self, peer: tuple[str, int] = PROXY, base: str = "http://127.0.0.1:8321"
    ) -> AsyncIterator[httpx2.AsyncClient]:
        transport = httpx2.ASGITransport(app=self.app, client=peer)
        async with httpx2.AsyncClient(transport=transport, base_url=base) as http:
            yield http

    async def sign_in(self, http: httpx2.AsyncClient, **headers: str) -> httpx2.Response:
        return await http.post("/", data={"token": self.token}, headers=headers)


async def test_services_at_two_ports_of_a_host_have_sessions_of_their_own(clock: ManualClock) -> None:
    scene = Scene(clock, http_public_url=f"{URL}:8443")
    async with scene.peer() as http:
        answer = await scene.sign_in(http, Origin=f"{URL}:8443")
        assert answer.headers["set-cookie"].startswith("__Host-workbell_session_8443=wb_")


@pytest.mark.parametrize(
    ("origin", "site", "status"),
    [
        (URL, "same-origin", 201),
        ("https://ops.example.com", "same-site", 201),  # a name of the setting http_hosts
        ("https://evil.example.com", "same-site", 403),
        (None, "cross-site", 403),
    ],
)
async def test_whose_page_may_send_something(clock: ManualClock, origin: str | None, site: str, status: int) -> None:
    scene = Scene(clock, http_public_url=URL, http_hosts=("ops.example.com",))
    async with scene.peer(base=URL) as http:
        assert (await scene.sign_in(http, Origin=URL)).status_code == 303
        headers = {"Sec-Fetch-Site": site} | ({} if origin is None else {"Origin": origin})
        answer = await http.post("/api/v1/tokens", json={"name": "made"}, headers=headers)
        assert answer.status_code == status


async def test_a_session_behind_a_public_url_is_for_https_and_this_host_alone(clock: ManualClock) -> None:
    scene = Scene(clock, http_public_url=URL)
    for base in (URL, "http://127.0.0.1:8321"):  # whether or not the proxy passes the Host on
        async with scene.peer(base=base) as http:
            answer = await scene.sign_in(http, Origin=URL)
            cookie = answer.headers["set-cookie"]
            assert answer.status_code == 303
            assert cookie.startswith("__Host-workbell_session=wb_")
            assert {"Secure", "HttpOnly", "Path=/", "SameSite=lax"} < set(cookie.split("; "))
            assert "domain" not in cookie.lower()
            session = {"Cookie": cookie.partition(";")[0]}
            assert (await http.get("/api/v1/runs", headers=session)).status_code == 200
            out = await http.delete("/api/v1/session", headers=session | {"Origin": URL})
            assert out.status_code == 204
            # A browser refuses this prefix without `Secure`, and would keep the cookie.
            assert {"Secure", "Path=/", "Max-Age=0"} < set(out.headers["set-cookie"].split("; "))
            assert (await http.get("/api/v1/runs", headers=session)).status_code == 401


async def test_a_public_url_is_told_to_browsers_for_good(clock: ManualClock) -> None:
    async with Scene(clock, http_public_url=URL).peer() as http:
        for path in ("/", "/healthz", "/api/v1/runs", "/nowhere"):
            assert (await http.get(path)).headers["strict-transport-security"] == "max-age=31536000", path
        assert f"curl {URL}/api/v1/runs" in (await http.get("/")).text


async def test_other_programs_on_localhost_are_not_asked_over_https(clock: ManualClock) -> None:
    async with Scene(clock, http_public_url="https://localhost:8443").peer() as http:
        assert "strict-transport-security" not in (await http.get("/")).headers


@pytest.mark.parametrize("settings", [{}, {"http_public_url": "http://localhost:8321"}])
async def test_on_plain_http_each_port_has_a_cookie(clock: ManualClock, settings: dict[str, Any]) -> None:
    scene = Scene(clock, **settings)
    async with scene.peer(base="http://localhost:8321") as http:
        answer = await scene.sign_in(http, Origin="http://localhost:8321")
        assert answer.headers["set-cookie"].startswith("workbell_session_8321=wb_")
        assert "secure" not in answer.headers["set-cookie"].lower()
        assert "strict-transport-security" not in answer.headers


async def test_only_pages_of_the_public_url_may_send(clock: ManualClock) -> None:
    scene = Scene(clock, http_public_url=URL, http_hosts=("jobs.example.com", "desk.example"))
    async with scene.peer(base=URL) as http:
        for foreign in ("http://jobs.example.com", f"{URL}:8443", "http://127.0.0.1:8321", f"{URL}.evil", "null"):
            refused = await scene.sign_in(http, Origin=foreign)
            assert (foreign, refused.status_code) == (foreign, 403)
        assert URL in refused.text
        for own in (URL, "https://desk.example"):
            assert (own, (await scene.sign_in(http, Origin=own)).status_code) == (own, 303)


async def test_a_mounted_application_has_a_cookie_for_its_path(clock: ManualClock) -> None:
    scene = Scene(clock, http_public_url=f"{URL}/ops")
    outer = FastAPI()
    outer.mount("/ops", scene.bell.asgi())
    scene.app = outer
    async with scene.peer(base=URL) as http:
        answer = await http.post("/ops/", data={"token": scene.token}, headers={"Origin": URL})
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith("__Secure-workbell_session=")
        assert {"Secure", "Path=/ops/"} < set(cookie.split("; "))
        assert (await http.get("/ops/api/v1/runs", headers={"Cookie": cookie.partition(";")[0]})).status_code == 200
        http.cookies.clear()
        assert f"curl {URL}/ops/api/v1/runs" in (await http.get("/ops/")).text


async def test_the_audit_log_has_the_address_that_a_trusted_proxy_tells(clock: ManualClock) -> None:
    scene = Scene(clock, http_trusted_proxies=("10.0.0.0/8",))
    for peer, wanted in ((PROXY, "198.51.100.7"), (OTHER, OTHER[0])):
        async with scene.peer(peer) as http:
            said = {"X-Forwarded-For": "203.0.113.1, 198.51.100.7"}
            assert (await http.post("/api/v1/queues/q/pause", headers=scene.auth | said)).status_code == 200
            assert scene.bell.audit.list(limit=1)[0].address == wanted


async def test_clients_behind_a_trusted_proxy_are_limited_apart(clock: ManualClock) -> None:
    scene = Scene(clock, http_trusted_proxies=("10.0.0.1",))
    bad = {"Authorization": "Bearer wb_x"}
    async with scene.peer() as http:
        for _ in range(51):
            answer = await http.get("/api/v1/runs", headers=bad | {"X-Forwarded-For": "198.51.100.7"})
        assert answer.status_code == 429
        answer = await http.get("/api/v1/runs", headers=bad | {"X-Forwarded-For": "198.51.100.8"})
        assert answer.status_code == 401


async def test_who_is_not_trusted_cannot_invent_addresses(clock: ManualClock) -> None:
    scene = Scene(clock, http_trusted_proxies=("10.0.0.1",))
    async with scene.peer(OTHER) as http:
        for number in range(51):
            headers = {"Authorization": "Bearer wb_x", "X-Forwarded-For": f"198.51.100.{number}"}
            answer = await http.get("/api/v1/runs", headers=headers)
        assert answer.status_code == 429


async def test_the_scheme_that_a_trusted_proxy_tells(clock: ManualClock) -> None:
    scene = Scene(clock, http_trusted_proxies=("10.0.0.1",))
    for peer, said, secure in ((PROXY, "https", True), (PROXY, "http", False), (OTHER, "https", False)):
        async with scene.peer(peer) as http:
            answer = await scene.sign_in(http, **{"X-Forwarded-Proto": said})
            assert ("Secure" in answer.headers["set-cookie"].split("; ")) is secure
            http.cookies.clear()
            shown = (await http.get("/", headers={"X-Forwarded-Proto": said})).text
            assert f"curl {'https' if secure else 'http'}://127.0.0.1:8321/" in shown
