"""Counting runs and acting on many over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from tests.http.conftest import fits
from tests.support.fresh_store import fresh_store
from tests.support.inside.values import Counted, Settings
from tests.support.inside.wire import FoundRun, ListPage, RunShown
from workbell import Status, Workbell
from workbell.testing import drain

pytestmark = pytest.mark.anyio


@pytest.fixture
async def bell() -> AsyncIterator[Workbell]:
    with Workbell(store=fresh_store(), settings=Settings(tenant="acme")) as made:

        @made.job
        def send(to: str, copies: int = 1) -> None: ...

        yield made


@pytest.fixture
async def http(bell: Workbell) -> AsyncIterator[httpx2.AsyncClient]:
    token = bell.tokens.create("operator", scopes=["operate"]).text
    transport = httpx2.ASGITransport(app=bell.asgi())
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1/api/v1", headers=headers) as client:
        yield client


async def told(answer: httpx2.Response, status: int = 200) -> Any:
    assert answer.status_code == status, answer.text
    return answer.json()


async def test_counting_and_finding_by_input(bell: Workbell, http: httpx2.AsyncClient) -> None:
    runs = [bell.enqueue("send", {"to": f"a{number % 2}", "copies": number}) for number in range(5)]
    bell.for_tenant("b").enqueue("send", {"to": "a1"})
    counted = await told(await http.get("/runs/count", params={"input.to": "a1", "status": "queued"}))
    fits(Counted, counted)
    assert counted == {"count": 2, "capped": False}
    assert (await told(await http.get("/runs/count")))["count"] == 5
    page = await told(await http.get("/runs", params={"input.to": '"a0"', "input.copies": "4.0"}))
    fits(ListPage[RunShown], page)
    assert [run["id"] for run in page["items"]] == [runs[4].id]
    first = await told(await http.get("/runs", params={"limit": 3}))
    second = await told(await http.get("/runs", params={"limit": 3, "before": first["next"]}))
    assert [run["id"] for run in first["items"] + second["items"]] == [run.id for run in reversed(runs)]
    assert second["next"] is None


async def test_a_bulk_action_is_a_run(bell: Workbell, http: httpx2.AsyncClient) -> None:
    run = bell.enqueue("send", {"to": "a"}, delay=60)
    body = {"action": "cancel", "filter": {"job": "send", "input": {"to": "a"}, "since": "2020-01-01T00:00:00Z"}}
    headers = {"Idempotency-Key": "once"}
    made = await told(await http.post("/bulk", json=body, headers=headers), 202)
    fits(RunShown, made)
    assert await told(await http.post("/bulk", json=body, headers=headers), 202) == made
    drain(bell)
    ended = await told(await http.get(f"/runs/{made['id']}"))
    assert ended["result"] == {"matched": 1, "done": 1, "skipped": 0, "errors": []}
    assert bell.get(run.id).status is Status.CANCELED


async def test_a_run_says_what_became_of_its_retry(bell: Workbell, http: httpx2.AsyncClient) -> None:
    first, second = (bell.cancel(bell.enqueue("send", {"to": to}).id) for to in "ab")
    assert (await told(await http.get(f"/runs/{first.id}")))["retried_by"] is None
    made = await told(await http.post(f"/runs/{first.id}/retry"), 201)
    shown = await told(await http.get(f"/runs/{first.id}"))
    fits(FoundRun, shown)
    assert shown["retried_by"] == {"id": made["id"], "status": "queued"}
    drain(bell)
    assert (await told(await http.get(f"/runs/{first.id}")))["retried_by"]["status"] == "succeeded"
    page = await told(await http.get("/runs", params={"status": "canceled"}))
    fits(ListPage[FoundRun], page)
    assert {run["id"]: bool(run["retried_by"]) for run in page["items"]} == {first.id: True, second.id: False}
    for wanted, runs in (
        ({"retried": "false", "status": "canceled"}, [second.id]),
        ({"retried": "true"}, [first.id]),
        ({"retry_of": first.id}, [made["id"]]),
    ):
        found = await told(await http.get("/runs", params=wanted))
        assert [run["id"] for run in found["items"]] == runs
        assert (await told(await http.get("/runs/count", params=wanted)))["count"] == len(runs)
    assert (await http.get("/runs", params={"retry_of": "x"})).status_code == 422
    bulk = await told(await http.post("/bulk", json={"action": "retry", "filter": {"status": ["canceled"]}}), 202)
    drain(bell)
    ended = await told(await http.get(f"/runs/{bulk['id']}"))
    assert ended["result"] == {"matched": 1, "done": 1, "skipped": 0, "errors": []}


@pytest.mark.parametrize(
    "body",
    [
        {"action": "cancel"},
        {"action": "remove", "filter": {}},
        {"action": "retry", "filter": {"status": ["queued"]}},
        {"action": "retry", "filter": {"retried": True}},
        {"action": "retry", "filter": {"colour": "red"}},
        {"action": "retry", "filter": {"input": {"a": [1]}}},
        {"action": "retry", "filter": {"input": {"": 1}}},
        {"action": "retry", "filter": {"since": "2020-01-01T00:00:00"}},
    ],
)
async def test_what_cannot_be_done_is_refused(http: httpx2.AsyncClient, body: dict[str, Any]) -> None:
    answer = await http.post("/bulk", json=body)
    assert answer.status_code in (400, 422), answer.text
    assert answer.headers["content-type"] == "application/problem+json"
