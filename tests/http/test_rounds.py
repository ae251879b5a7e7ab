"""`POST /dispatch` and `POST /consume`: for cron triggers and queues that push (D5, D6)."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from tests.http.conftest import Api, Caller
from tests.support.inside.http import round_routes as rounds
from tests.support.inside.values import SCOPES_ALONE as ALONE
from workbell import Consumed, Dispatched, InvalidOption, Scope, Status

pytestmark = pytest.mark.anyio


def caller(api: Api, *scopes: str, tenant: str = "*") -> Caller:
    return api.caller(*scopes, tenant=tenant, user_id=None)


async def test_a_round_of_dispatch(api: Api) -> None:
    cron = caller(api, "dispatch")
    api.a.enqueue("send", {"to": "x"}, delay=0.001)
    await asyncio.sleep(0.01)
    told = await cron.ask("POST", "/dispatch", body={"limit": 500})
    msgspec.convert(told, Dispatched)
    assert told["queued"] == 1
    assert (await cron.ask("POST", "/dispatch"))["queued"] == 0


async def test_a_round_of_work(api: Api) -> None:
    queue = caller(api, "consume")
    runs = [api.a.enqueue("send", {"to": str(number)}) for number in range(3)]
    told = await queue.ask("POST", "/consume", body={"version": 1, "runs": [runs[0].id, "nonsense"]})
    msgspec.convert(told, Consumed)
    assert told["results"][0] == {"run": runs[0].id, "answer": "done", "status": "succeeded"}
    assert (told["results"][1]["run"], told["results"][1]["answer"]) == ("nonsense", "ignored")
    told = await queue.ask("POST", "/consume", body={"limit": 1, "seconds": 5})
    assert [one["answer"] for one in told["results"]] == ["done"]
    told = await queue.ask("POST", "/consume", body={})
    assert len(told["results"]) == 1
    assert {api.a.get(run.id).status for run in runs} == {Status.SUCCEEDED}


@pytest.mark.parametrize("name", ["run", "kumofireJobRunId"])
@pytest.mark.parametrize("versioned", [True, False])
async def test_the_message_itself_as_it_was_delivered(api: Api, name: str, versioned: bool) -> None:
    """D7."""
    run, other = (api.a.enqueue("send", {"to": to}) for to in "xy")
    message = {name: run.id} | ({"version": 1} if versioned else {})
    told = await caller(api, "consume").ask("POST", "/consume", body=message)
    assert told["results"] == [{"run": run.id, "answer": "done", "status": "succeeded"}]
    assert api.a.get(other.id).status is Status.QUEUED


async def test_a_run_that_must_wait(api: Api) -> None:
    run = api.a.enqueue("send", {"to": "x"}, delay=100)
    (told,) = (await caller(api, "consume").ask("POST", "/consume", body={"runs": [run.id]}))["results"]
    assert (told["answer"], told["status"], told["reason"]) == ("retry", "scheduled", "not due yet")
    assert 90 < told["retry_after"] <= 100


@pytest.mark.parametrize("field", ["run", "runs", "kumofireJobRunId"])
async def test_an_unknown_version_takes_nothing(api: Api, field: str) -> None:
    run = api.a.enqueue("send", {"to": "x"})
    named = [run.id] if field == "runs" else run.id
    told = await caller(api, "consume").ask("POST", "/consume", 422, {"version": 2, field: named})
    assert told["type"] == "urn:workbell:error:UnknownMessage"
    assert "version 2, and this Workbell reads 1; update Workbell" in told["detail"]
    assert api.a.get(run.id).status is Status.QUEUED


@pytest.mark.parametrize(
    "body",
    [
        {"runs": ["x"], "limit": 5},
        {"runs": "x"},
        {"runs": [5]},
        {"version": "1", "runs": []},
        {"version": True, "runs": []},
        {"seconds": 0},
        {"seconds": 901},
        {"limit": 0},
        {"runs": ["x"] * 1001},
        {"run": 5},
        {"run": ""},
        {"run": None},
        {"run": "x", "limit": 5},
        {"run": "x", "runs": ["x"]},
        {"kumofireJobRunId": "x", "runs": []},
        {"jobRunId": "x"},
    ],
)
async def test_bad_input(api: Api, body: dict[str, object]) -> None:
    await caller(api, "consume").ask("POST", "/consume", 422, body)


async def test_scopes_stand_alone(api: Api) -> None:
    """A token of a trigger can do nothing else, and no other token can do what it does."""
    for scope, path in (("dispatch", "/dispatch"), ("consume", "/consume")):
        own = caller(api, scope)
        await own.ask("POST", path, body={})
        for other in ("/dispatch", "/consume"):
            if other != path:
                await own.ask("POST", other, 403, {})
        await own.ask("GET", "/runs", 403)
        await own.ask("POST", "/runs", 403, {"job": "send", "input": {"to": "x"}})
        for word in Scope:
            if word not in ALONE:
                await caller(api, word).ask("POST", path, 403, {})
    await caller(api, "dispatch", "consume").ask("POST", "/consume", body={})
    for pair in (("consume", "read"), ("dispatch", "admin"), ("agent", "consume"), ("dispatch", "consume", "read")):
        with pytest.raises(InvalidOption, match="cannot be combined with others"):
            caller(api, *pair)


async def test_only_for_all_tenants(api: Api) -> None:
    told = await caller(api, "consume", tenant="a").ask("POST", "/consume", 403, {})
    assert "token of all tenants" in told["detail"]
    await caller(api, "dispatch", tenant="a").ask("POST", "/dispatch", 403, {})


async def test_an_admin_cannot_grant_them(api: Api) -> None:
    told = await api.root.ask("POST", "/tokens", 403, {"scopes": ["consume"]})
    assert "`workbell tokens create`" in told["detail"]


async def test_the_server_stops(api: Api) -> None:
    """What has not ended is handed back, and the caller is told to deliver it again."""
    begun = asyncio.Event()

    @api.bell.job
    async def nap() -> None:
        begun.set()
        await asyncio.sleep(60)

    run = nap.enqueue()
    asking = asyncio.ensure_future(caller(api, "consume").ask("POST", "/consume", body={"runs": [run.id]}))
    await asyncio.wait_for(begun.wait(), 30)
    api.app.state.service.stopping.set()
    (told,) = (await asking)["results"]
    assert (told["answer"], told["status"], told["reason"]) == ("retry", "queued", "handed back: stopped")


async def test_so_many_at_once(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "MOST_ROUNDS", 1)
    begun, gate = asyncio.Event(), asyncio.Event()

    @api.bell.job
    async def hold() -> None:
        begun.set()
        await gate.wait()

    hold.enqueue()
    asker = caller(api, "consume")
    first = asyncio.ensure_future(asker.ask("POST", "/consume", body={}))
    await asyncio.wait_for(begun.wait(), 30)
    answer = await asker.send("POST", "/consume", json={})
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "5")
    gate.set()
    assert len((await first)["results"]) == 1
    await asker.ask("POST", "/consume", body={})
