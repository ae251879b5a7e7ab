"""Query parameters that a route does not know: refused, since a filter that is passed over finds everything (B12)."""

from __future__ import annotations

import pytest

from tests.http.conftest import Api, Caller
from tests.http.things import PREFIX, Things
from tests.support.inside.wire import OPERATIONS

pytestmark = pytest.mark.anyio


async def test_every_route_that_reads_refuses_what_it_does_not_know(api: Api) -> None:
    things = Things(api.bell, "a")
    agent = Caller(api.http, things.agent_token)
    paths = [PREFIX + operation.path for operation in OPERATIONS if operation.method == "GET"]
    assert len(paths) > 40
    for path in paths:
        if path.endswith("/stream"):
            continue
        caller = agent if path.startswith(f"{PREFIX}/agents/self") else api.admin
        wanted = things.path(path)
        sign = "&" if "?" in wanted else "?"
        told = await caller.ask("GET", f"{wanted}{sign}statsu=failed", 422)
        assert told["detail"].startswith("Unknown query parameter 'statsu'; "), path
        answer = await caller.send("GET", f"{wanted}{sign}tenant=a")
        assert answer.status_code < 400 or "query parameter" not in answer.text, (path, answer.text)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/runs?statsu=failed", "did you mean status=? The parameters are before, event, job, limit, queue, retried,"),
        ("/runs/count?Status=failed", "did you mean status=?"),
        ("/executions?event_id=x", "did you mean event=?"),
        ("/executions?trigger_id=x", "did you mean trigger=?"),
        ("/events?types=x", "did you mean type=?"),
        ("/audit?zzz=1", "'zzz'; the parameters are "),
        ("/runs?input=1", "Unknown query parameter 'input'"),
        ("/jobs?tag=x", "Unknown query parameter 'tag'; the parameters are after, limit, tenant."),
    ],
)
async def test_the_nearest_name_is_suggested(api: Api, path: str, said: str) -> None:
    assert said in (await api.admin.ask("GET", path, 422))["detail"]


async def test_fields_of_the_input_are_known(api: Api) -> None:
    run = api.a.enqueue("send", {"to": "ada"})
    api.a.enqueue("send", {"to": "bob"})
    found = await api.admin.ask("GET", "/runs?input.to=ada&status=queued&status=running&limit=5")
    assert [one["id"] for one in found["items"]] == [run.id]
    await api.admin.ask("GET", "/jobs?input.to=ada", 422)


async def test_a_field_that_other_systems_call_payload(api: Api) -> None:
    for path, body, ours in (
        ("/runs", {"job": "send", "payload": {"to": "x"}}, "input"),
        ("/events", {"type": "orders.paid", "payload": {"to": "x"}}, "data"),
    ):
        told = await api.operator.ask("POST", path, 422, body)
        assert told["errors"][0]["where"] == "body.payload"
        assert f"there is no such field; did you mean {ours}?" in told["detail"]
