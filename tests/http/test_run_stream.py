"""Run streams that cannot go on: they end as a whole answer, and the log has a line instead of a traceback."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest

from tests.support.fresh_store import fresh_store
from tests.support.inside.values import Settings
from tests.support.served import DEADLINE, Served, served
from tests.support.waiting import until
from workbell import StoreError, StoreUnavailable, Workbell

pytestmark = pytest.mark.anyio

WHERE = "PostgreSQL at db.internal:5432/jobs\ncannot be reached."


@pytest.fixture
def server() -> Iterator[Served]:
    bell = Workbell(store=fresh_store(), settings=Settings(http_port=0, http_log="problems"))

    @bell.job
    def work() -> None: ...

    with served(bell) as server:
        yield server
    bell.runtime.close()


async def heard_of(server: Served, break_it: Callable[[str], None]) -> str:
    """All that a stream sends, from which something is taken away after its first event."""
    run = server.bell.enqueue("work", delay=3600)
    headers = {"Authorization": f"Bearer {server.bell.tokens.create(tenant='default').text}"}
    client = httpx2.AsyncClient(base_url=server.url, headers=headers, timeout=DEADLINE, trust_env=False)
    heard = ""
    async with client, client.stream("GET", f"/api/v1/runs/{run.id}/stream") as answer:
        assert answer.status_code == 200
        async for part in answer.aiter_text():
            if not heard:
                await asyncio.to_thread(break_it, run.id)
            heard += part
    return heard  # only if the answer came to its proper end


def raising(error: Exception) -> Callable[..., Any]:
    def broken(*_: Any, **__: Any) -> Any:
        raise error

    return broken


@pytest.mark.parametrize("which", ["get", "logs"])
async def test_a_run_that_is_removed_ends_its_stream(
    server: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, which: str
) -> None:
    store = server.bell.store
    answers = [] if which == "get" else [store.runs.find]  # the run is read before its log lines

    def remove(_run_id: str) -> None:
        monkeypatch.setattr(store.runs, "find", lambda ids: answers.pop()(ids) if answers else {})

    with caplog.at_level(logging.WARNING):
        heard = await heard_of(server, remove)
    assert heard.startswith("event: run\n")
    assert heard.endswith("event: end\ndata: {}\n\n")
    assert not caplog.records


@pytest.mark.parametrize("which", ["get", "logs"])
@pytest.mark.parametrize("error", [StoreUnavailable(WHERE), StoreError("the table is\nlocked")])
async def test_a_store_that_fails_ends_the_stream_with_a_comment(
    server: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, which: str, error: StoreError
) -> None:
    """Without the event `end`: the client connects again."""

    def fail(_run_id: str) -> None:
        store = server.bell.store
        part, verb = (store.runs, "find") if which == "get" else (store.logs, "list")
        monkeypatch.setattr(part, verb, raising(error))

    with caplog.at_level(logging.WARNING):
        heard = await heard_of(server, fail)
    *_, last, nothing = heard.split("\n\n")
    assert (last.startswith(": "), "\n" in last, nothing, "event: end" in heard) == (True, False, "", False)
    assert "internal" not in heard
    (line,) = caplog.records
    assert (line.levelno, line.exc_info) == (logging.ERROR, None)
    assert str(error) in line.getMessage()


async def test_the_head_of_a_stream_ends_at_once(server: Served) -> None:
    """And leaves a connection on which the next answer comes whole."""
    run = server.bell.enqueue("work", delay=3600)
    headers = {"Authorization": f"Bearer {server.bell.tokens.create(tenant='default').text}"}
    async with httpx2.AsyncClient(base_url=server.url, headers=headers, timeout=DEADLINE, trust_env=False) as client:
        for _ in range(2):
            head = await client.head(f"/api/v1/runs/{run.id}/stream")
            assert (head.status_code, head.content) == (200, b"")
            assert head.headers["content-type"].startswith("text/event-stream")
            listed = [await client.request(method, "/api/v1/runs") for method in ("HEAD", "GET")]
            assert listed[0].headers["content-length"] == listed[1].headers["content-length"]
            assert listed[1].json()["items"][0]["id"] == run.id
        until(lambda: not len(server.service.opened.streams), "the streams are let go")
