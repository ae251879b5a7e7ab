"""Files of the dashboard's page: few by default, each by itself with `?debug`; and compressed answers."""

from __future__ import annotations

import asyncio
import gzip
import re
import threading
from collections.abc import Mapping

import pytest

from tests.http.conftest import Api
from tests.support.inside.http import COMPRESSION_LEVEL as LEVEL
from tests.support.inside.http import COOKIE, Assets, assets, bundles, styles_of
from tests.support.inside.http import dashboard_assets as module

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


class Bundling:
    """Bundling that waits until it is let go. On the event loop it would wait in vain: nobody else could let it go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun = threading.Event()
        self.go_on = threading.Event()
        self.outcomes: list[bool] = []  # of each time: whether it was let go
        monkeypatch.setattr(module, "bundles", self)
        monkeypatch.setattr(module, "loader", module.Loader(module.all_files))

    def __call__(self, files: Mapping[str, bytes]) -> dict[str, bytes]:
        self.begun.set()
        self.outcomes.append(self.go_on.wait(10))
        return bundles(files)


@pytest.mark.parametrize("path", ["/runs", "/static/x/bell.svg"])
async def test_others_are_served_while_the_first_page_waits_for_its_files(
    api: Api, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    bundling, headers = Bundling(monkeypatch), {"Cookie": f"{COOKIE}={api.session()}"}
    visits = [asyncio.create_task(api.http.get(path, headers=headers)) for _ in range(3)]
    assert await asyncio.to_thread(bundling.begun.wait, 60)
    assert (await api.http.get("/healthz")).status_code == 200
    assert not any(visit.done() for visit in visits)
    bundling.go_on.set()
    assert [(await visit).status_code for visit in visits] == [200, 200, 200]
    assert bundling.outcomes == [True]


async def test_a_visitor_who_goes_takes_nothing_from_others(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    bundling = Bundling(monkeypatch)
    leaves, stays = (asyncio.create_task(api.http.get("/static/x/bell.svg")) for _ in range(2))
    assert await asyncio.to_thread(bundling.begun.wait, 60)
    leaves.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaves
    bundling.go_on.set()
    assert (await stays).status_code == 200


async def test_a_service_begins_to_load_as_it_starts(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    bundling = Bundling(monkeypatch)
    app = api.bell.asgi()
    async with app.router.lifespan_context(app):
        assert await asyncio.to_thread(bundling.begun.wait, 60), "before any request"
        bundling.go_on.set()


async def test_a_mounted_service_begins_with_the_application(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    bundling = Bundling(monkeypatch)
    api.bell.asgi()  # a mounted application is told nothing of the start
    async with api.bell.lifespan():
        assert await asyncio.to_thread(bundling.begun.wait, 60), "before any request"
        bundling.go_on.set()


async def test_files_that_could_not_be_read_are_read_again(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [OSError(24, "too many open files")]
    monkeypatch.setattr(module, "loader", module.Loader(lambda: raised(files.pop()) if files else module.all_files()))
    with pytest.raises(OSError, match="too many"):
        await module.load_assets()
    assert (await api.http.get("/static/x/bell.svg")).status_code == 200


def raised(error: OSError) -> Assets:
    raise error


async def test_debug_has_the_single_files(api: Api) -> None:
    found = await files_of(api, "/runs?debug")
    assert len([path for path in found if path.endswith(".css")]) == len(styles_of(assets().by_path))
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
