"""Sign-in of browsers: by a printed URL, by a pasted token; and what a session is not good for (E6)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from tests.support.fresh_store import fresh_store
from tests.support.inside.http import login_url
from tests.support.inside.values import Settings, TokenKind
from workbell import Workbell
from workbell.testing import ManualClock

pytestmark = pytest.mark.anyio

OWN = {"Origin": "http://localhost"}
FOREIGN = ({"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"})


@pytest.fixture
async def bell(clock: ManualClock) -> AsyncIterator[Workbell]:
    bell = Workbell(store=fresh_store(clock), settings=Settings())
    yield bell
    bell.runtime.close()


@asynccontextmanager
async def browser(bell: Workbell) -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(app=bell.asgi())
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http:
        yield http


def of_url(url: str) -> dict[str, str]:
    """The form of the page that a sign-in URL shows."""
    return {"url_token": parse_qs(urlsplit(url).query)["token"][0]}


def sessions(bell: Workbell) -> int:
    return len([one for one in bell.tokens.list(tenant="*") if one.kind is TokenKind.SESSION])


async def test_to_open_a_sign_in_url_changes_nothing(bell: Workbell) -> None:
    """Scanners of links in mails and chats open it before the person does."""
    url = login_url(bell, "http://localhost")
    async with browser(bell) as http:
        for method in ("GET", "HEAD", "GET"):
            answer = await http.request(method, url)
            assert (answer.status_code, "set-cookie" in answer.headers) == (200, False)
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
        assert '<form method="post" action="/">' in answer.text
        assert answer.text.count("<button") == 1
        assert "<script" not in answer.text
        assert sessions(bell) == 0
        signed_in = await http.post("/", data=of_url(url), headers=OWN)
        assert (signed_in.status_code, signed_in.headers["location"]) == (303, "/")
        assert (await http.get("/api/v1/tokens/self")).json()["may"] == ["read", "enqueue", "operate", "admin"]
        again = await http.post("/", data=of_url(url), headers=OWN)
        assert again.status_code == 401
        assert "This URL has been used" in again.text


async def test_a_page_of_another_site_signs_nobody_in(bell: Workbell) -> None:
    """Login CSRF: else a browser would work in the session of somebody else, without a word."""
    url, token = login_url(bell, "http://localhost"), bell.tokens.create("a")
    async with browser(bell) as http:
        for foreign in FOREIGN:
            for form in (of_url(url), {"token": token.text}):
                answer = await http.post("/", data=form, headers=foreign)
                assert (answer.status_code, "set-cookie" in answer.headers) == (403, False)
        assert sessions(bell) == 0
        assert (await http.post("/", data=of_url(url), headers=OWN)).status_code == 303  # it was not used up


async def test_the_page_says_that_a_session_is_replaced(bell: Workbell) -> None:
    url = login_url(bell, "http://localhost")
    async with browser(bell) as http:
        assert "signed in already" not in (await http.get(url)).text
        await http.post("/", data={"token": bell.tokens.create("ada").text}, headers=OWN)
        assert "signed in already" in (await http.get(url)).text


async def test_the_token_of_a_url_is_text_on_the_page(bell: Workbell) -> None:
    async with browser(bell) as http:
        answer = await http.get("/", params={"token": '"><script>alert(1)</script>'})
    assert "<script" not in answer.text
    assert 'value="&quot;&gt;&lt;script&gt;' in answer.text


async def test_a_sign_in_url_for_who_may_only_read(bell: Workbell) -> None:
    url = login_url(bell, "http://localhost", scopes=["read"], tenant="acme")
    async with browser(bell) as http:
        assert (await http.post("/", data=of_url(url), headers=OWN)).status_code == 303
        told = (await http.get("/api/v1/tokens/self")).json()
        assert (told["tenant"], told["may"]) == ("acme", ["read"])
        assert (await http.get("/api/v1/runs?tenant=default")).status_code == 404
        assert (await http.post("/api/v1/queues/default/pause", headers=OWN)).status_code == 403


async def test_a_valid_token_is_never_refused_because_of_others(bell: Workbell) -> None:
    """All come from one address, as behind a proxy: bad ones are limited, good ones are not."""
    url, token = login_url(bell, "http://localhost"), bell.tokens.create("a")
    pairing = bell.agents.pairing("web-1")
    async with browser(bell) as http:
        refused = [await http.post("/", data={"token": "wb_x"}) for _ in range(51)]
        assert [one.status_code for one in refused] == [401] * 50 + [429]
        assert refused[-1].headers["retry-after"] == "1"
        for form in ({"url_token": "wb_x"}, {"token": "wb_x"}):
            assert (await http.post("/", data=form)).status_code == 429
        assert (await http.post("/api/v1/agents/pair", json={"token": "wb_x"})).status_code == 429
        assert (await http.post("/", data={"token": token.text})).status_code == 303
        assert (await http.post("/", data=of_url(url))).status_code == 303
        assert (await http.post("/api/v1/agents/pair", json={"token": pairing.text})).status_code == 201


async def test_the_rate_of_bad_tokens_counts_a_network_of_ipv6_as_one_client(bell: Workbell) -> None:
    app, statuses = bell.asgi(), []
    for address in (*(f"2001:db8::{number:x}" for number in range(51)), "2001:db8:0:1::1"):
        transport = httpx2.ASGITransport(app=app, client=(address, 1))
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http:
            statuses.append((await http.get("/api/v1/runs", headers={"Authorization": "Bearer x"})).status_code)
    assert statuses == [401] * 50 + [429, 401]


async def test_a_session_is_no_bearer_token(bell: Workbell) -> None:
    """It is good where the browser keeps it, with the checks that a cookie has; a program has a token."""
    async with browser(bell) as http:
        await http.post("/", data={"token": bell.tokens.create("a", scopes=["admin"]).text})
        [text] = http.cookies.values()
        assert (await http.get("/api/v1/tokens/self")).status_code == 200
        http.cookies.clear()
        refused = await http.get("/api/v1/tokens/self", headers={"Authorization": f"Bearer {text}"})
        assert refused.status_code == 401
        assert "session of a browser" in refused.json()["detail"]
        assert "workbell tokens create" in refused.json()["detail"]
        assert text not in refused.text
