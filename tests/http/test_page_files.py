"""Files of the dashboard's page: few by default, each by itself with `?debug`; and compressed answers."""

from __future__ import annotations

import gzip
import re
import threading

import pytest

from tests.http.conftest import Api
from workbell.http.dashboard import assets as module
from workbell.http.dashboard.assets import assets
from workbell.http.framework.compression import LEVEL
from workbell.http.policies.session_cookie import COOKIE

pytestmark = pytest.mark.anyio

FILE = re.compile(r'(?:src|href)="(/static/[^"]+)"')


async def files_of(api: Api, path: str) -> list[str]:
    page = await api.http.get(path, headers={"Cookie": f"{COOKIE}={api.session()}"})
    assert page.status_code == 200
    return FILE.findall(page.text)


async def test_a_page_has_one_script_and_one_style(api: Api) -> None:
    found = await files_of(api, "/runs")
    base = f"/static/{assets().digest}"
    assert found == [f"{base}/{name}" for name in ("bell.svg", "bundle.css", "theme.js", "bundle.js")]
    for path in found:
        answer = await api.http.get(path, headers={"Accept-Encoding": "gzip"})
        assert answer.status_code == 200
        assert answer.headers["content-encoding"] == "gzip"
        assert "immutable" in answer.headers["cache-control"]


async def test_the_first_page_is_made_on_a_thread(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes a fifth of a second, in which the event loop would serve nobody."""
    threads = []
    bundle = module.bundle_style
    monkeypatch.setattr(module, "bundle_style", lambda texts: (threads.append(threading.get_ident()), bundle(texts))[1])
    for path in ("/runs", "/static/x/bell.svg"):
        assets.cache_clear()
        answer = await api.http.get(path, headers={"Cookie": f"{COOKIE}={api.session()}"})
        assert answer.status_code == 200
    assert len(threads) == 2
    assert threading.get_ident() not in threads


async def test_debug_has_the_single_files(api: Api) -> None:
    found = await files_of(api, "/runs?debug")
    assert len([path for path in found if path.endswith(".css")]) == len(assets().styles)
    assert found[-1].endswith("/main.js")


def test_types_for_the_checker_are_not_served() -> None:
    assert not [path for path in assets().by_path if path.endswith((".ts", ".json"))]


class TestCompression:
    async def answer(self, api: Api, path: str, encoding: str = "gzip"):
        return await api.http.get(
            f"/api/v1{path}", headers={"Authorization": f"Bearer {api.admin.text}", "Accept-Encoding": encoding}
        )

    async def test_long_answers(self, api: Api) -> None:
        for _ in range(5):
            await api.maker.ask("POST", "/runs", 201, {"job": "send", "input": {"to": "x" * 400}})
        plain, small = await self.answer(api, "/runs", "identity"), await self.answer(api, "/runs")
        assert "content-encoding" not in plain.headers
        assert (small.headers["content-encoding"], small.headers["vary"]) == ("gzip", "Accept-Encoding")
        assert int(small.headers["content-length"]) == len(gzip.compress(plain.content, LEVEL, mtime=0))
        assert small.json() == plain.json()

    @pytest.mark.parametrize("encoding", ["gzip;q=0", "br, gzip; q=0.0", "deflate"])
    async def test_callers_that_do_not_take_it(self, api: Api, encoding: str) -> None:
        for path in ("/openapi.json", f"/static/{assets().digest}/bundle.css"):
            answer = await api.http.get(path, headers={"Accept-Encoding": encoding})
            assert "content-encoding" not in answer.headers

    async def test_short_answers_are_left(self, api: Api) -> None:
        assert "content-encoding" not in (await self.answer(api, "/pauses")).headers

    async def test_secrets_are_left(self, api: Api) -> None:
        answer = await api.http.post(
            "/api/v1/tokens",
            headers={"Authorization": f"Bearer {api.admin.text}", "Accept-Encoding": "gzip"},
            json={"name": "x" * 150, "scopes": ["read"]},
        )
        assert answer.status_code == 201
        assert "content-encoding" not in answer.headers
