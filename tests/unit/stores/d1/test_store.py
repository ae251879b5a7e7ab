"""The URL of a D1 store, the files of a bridge, and what its answers mean."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from workbell.errors import InvalidUrl, StoreError, StoreUnavailable, WorkbellError
from workbell.stores.d1 import bridge_calls
from workbell.stores.d1.bridge_calls import BridgeCalls
from workbell.stores.d1.bridge_files import queries_module, write_bridge
from workbell.stores.d1.query_set import QuerySet, query_set
from workbell.stores.opening import open_store

SECRET = "do-not-show-me"


@pytest.fixture(autouse=True)
def _token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBELL_D1_TOKEN", SECRET)
    monkeypatch.setattr(bridge_calls, "PAUSES", (0, 0))


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("d1+http://bridge.example.com", "use https://"),
        ("d1+https://me:do-not-show-me@bridge.example.com", "set WORKBELL_D1_TOKEN"),
        ("d1+https://bridge.example.com?token=do-not-show-me", "only where the bridge is"),
        ("d1+https://", "names no bridge"),
        ("d1://bridge", "names no store"),
    ],
)
def test_a_url_that_cannot_be_used(url: str, says: str) -> None:
    with pytest.raises(InvalidUrl, match=says) as caught:
        open_store(url)
    assert SECRET not in str(caught.value)
    assert "insecure" not in str(caught.value)


def test_opening_connects_to_nothing() -> None:
    for url in ("d1+https://bridge.example.com", "d1+https://example.com/bridge/", "d1+http://localhost:1"):
        open_store(url).close()


@pytest.mark.parametrize("token", [None, ""])
def test_a_token_is_needed(token: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if token is None:
        monkeypatch.delenv("WORKBELL_D1_TOKEN")
    else:
        monkeypatch.setenv("WORKBELL_D1_TOKEN", token)
    with pytest.raises(InvalidUrl, match="no token; set WORKBELL_D1_TOKEN"):
        open_store("d1+https://bridge.example.com")


class Answers:
    """A bridge that gives one answer to whatever is asked."""

    def __init__(self, status: int, body: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[httpx2.Request] = []
        self._status, self._body = status, body
        real = httpx2.Client
        monkeypatch.setattr(
            bridge_calls.httpx2, "Client", lambda **words: real(transport=httpx2.MockTransport(self._answer), **words)
        )
        self.calls = BridgeCalls("http://localhost", SECRET, loopback=True, connections=2, deadline=1)

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(request)
        if isinstance(self._body, Exception):
            raise self._body
        return httpx2.Response(self._status, text=self._body if isinstance(self._body, str) else json.dumps(self._body))


@pytest.mark.parametrize(
    ("status", "body", "error", "says", "tries"),
    [
        (401, {"code": "unauthorized", "message": "no"}, StoreUnavailable, "set WORKBELL_D1_TOKEN to the secret", 1),
        (403, "<html>Access denied</html>", StoreUnavailable, "refuses the token", 1),
        (403, {"code": "search_off"}, StoreError, 'set its variable SEARCH to "on"', 1),
        (409, {"code": "version", "version": "0.0.9"}, StoreUnavailable, "of Workbell 0.0.9 .* bridge write DIR", 1),
        (404, "<html></html>", StoreUnavailable, "no bridge answers there", 1),
        (413, {"code": "too_large"}, StoreError, "hand in less at once", 1),
        (400, {"code": "refused", "message": "no such table"}, StoreError, "refused: no such table", 1),
        (503, {"code": "unavailable", "message": "Network connection lost."}, StoreUnavailable, "connection lost;", 3),
        (500, {"code": "failed", "message": "x"}, StoreUnavailable, "HTTP 500: x; repeat", 3),
        (429, "slow down", StoreUnavailable, "HTTP 429; repeat", 3),
        (522, "<html>", StoreUnavailable, "HTTP 522", 3),
        (200, "<html>a captive portal</html>", StoreUnavailable, "HTTP 200; repeat", 3),
        (0, httpx2.ReadError("reset"), StoreUnavailable, "the connection failed \\(reset\\)", 3),
        (0, httpx2.ReadTimeout("slow"), StoreUnavailable, "no answer within 1 s", 3),
        (0, httpx2.ConnectError("refused"), StoreUnavailable, "the connection failed", 3),
    ],
)
def test_what_an_answer_means(
    status: int, body: Any, error: type[Exception], says: str, tries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A read is sent again if it may help. A write never is: it may have been done."""
    bridge = Answers(status, body, monkeypatch)
    with pytest.raises(error, match=says) as caught:
        bridge.calls.read({})
    assert type(caught.value) is StoreError or error is StoreUnavailable
    assert SECRET not in str(caught.value)
    assert len(bridge.asked) == tries
    with pytest.raises(error, match=says):
        bridge.calls.write({})
    assert len(bridge.asked) == tries + 1
    assert bridge.asked[0].headers["authorization"] == f"Bearer {SECRET}"


def test_the_files_of_a_bridge(tmp_path: Path) -> None:
    folder = tmp_path / "bridge"
    assert write_bridge(folder) == ["README.md", "queries.mjs", "queue.mjs", "worker.mjs", "wrangler.jsonc"]
    (folder / "wrangler.jsonc").write_text("mine")
    (folder / "worker.mjs").write_text("old")
    assert "wrangler.jsonc" not in write_bridge(folder)
    assert (folder / "wrangler.jsonc").read_text() == "mine"
    assert "timingSafeEqual" in (folder / "worker.mjs").read_text()
    assert query_set().digest in (folder / "queries.mjs").read_text()


def test_a_bridge_has_the_queries_of_two_versions() -> None:
    before, now = QuerySet("0.9", {"a": "SELECT 1"}), QuerySet("1.0", {"a": "SELECT 2"})
    text = queries_module(now, before)
    assert before.digest in text
    assert now.digest in text
    assert 'VERSION = "1.0"' in text
    assert queries_module(now, QuerySet("0.9", now.queries)).count("SELECT") == 1


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WorkbellError, match=r"file.*choose another folder"):
        write_bridge(tmp_path / "file")
