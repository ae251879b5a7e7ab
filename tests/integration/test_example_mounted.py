"""The example of an application with Workbell in it (`examples/mounted/shop.py`) does what its page says."""

from __future__ import annotations

import runpy
from pathlib import Path

import anyio
import httpx2
import pytest

from tests.docs.pages import DOCS, ROOT, text_of

EXAMPLE = ROOT / "examples" / "mounted" / "shop.py"
ADA = {"X-Shop-User": "ada"}


@pytest.fixture(autouse=True)
def its_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WORKBELL_URL", raising=False)


async def walk() -> None:
    app = runpy.run_path(str(EXAMPLE))["app"]
    transport = httpx2.ASGITransport(app=app)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url="http://shop.example") as browser,
    ):
        run = (await browser.post("/orders/7")).json()["run"]
        ended = await browser.get(f"/jobs/api/v1/runs/{run}", params={"wait": 20}, headers=ADA)
        assert (ended.json()["status"], ended.json()["result"]) == ("succeeded", "order 7 is confirmed")

        listed = await browser.get("/jobs/api/v1/runs", headers=ADA)
        assert [one["id"] for one in listed.json()["items"]] == [run]
        refused = await browser.get("/jobs/api/v1/runs")
        assert (refused.status_code, refused.json()["type"]) == (401, "urn:workbell:error:Unauthorized")
        too_much = await browser.get("/jobs/api/v1/tokens", headers=ADA)
        assert too_much.status_code == 403

        assert (await browser.get("/api/v1/runs", headers=ADA)).status_code == 404
        page = await browser.get("/jobs/", headers=ADA)
        assert 'content="/jobs"' in page.text  # the dashboard, which knows where it lies
        who = await browser.get("/jobs/api/v1/tokens/self", headers=ADA)
        assert who.json()["actor"] == "ada"


def test_an_order_is_confirmed_and_its_run_is_seen() -> None:
    """E6, F7: mounted below a prefix, the job runs in the same process, and the application says who may look."""
    anyio.run(walk)


def test_it_can_be_started_again() -> None:
    anyio.run(walk)


def test_the_page_shows_it() -> None:
    assert text_of(EXAMPLE).rstrip() in text_of(DOCS / "how-to" / "fastapi.md")
