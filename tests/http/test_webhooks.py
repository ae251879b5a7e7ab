"""Webhooks over HTTP: from the making of an endpoint to its end, and never a secret but in the answer that makes it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.http.conftest import Api
from tests.support.inside.stores import SqliteStore
from tests.support.inside.values import Delivery
from tests.support.inside.wire import AttemptShown, EndpointShown, Items, ListPage, MadeEndpoint
from workbell.testing import drain

pytestmark = pytest.mark.anyio

NEW: dict[str, Any] = {"url": "https://hooks.example.com/x", "patterns": ["posts.*"]}
TOKEN = "very-private-header"


async def test_what_a_policy_leaves_out_is_as_for_deliveries(api: Api) -> None:
    made = await api.operator.ask("POST", "/webhooks", 201, NEW | {"retry_config": {"initial_delay_ms": 7000}})
    wanted = {"max_attempts": 10, "initial_delay_ms": 7000, "backoff_multiplier": 6, "max_delay_ms": 86_400_000}
    assert made["retry_config"] == wanted
    told = await api.operator.ask("PATCH", f"/webhooks/{made['id']}", 200, {"retry_config": {"max_attempts": 4}})
    assert told["retry_config"] == wanted | {"max_attempts": 4}


async def test_an_endpoint_from_its_making_to_its_end(api: Api) -> None:
    asked = NEW | {"headers": {"x-token": TOKEN}, "rate": "10/s", "retry_config": {"max_attempts": 2}, "timeout": 3}
    made = await api.operator.ask("POST", "/webhooks", 201, asked)
    msgspec.convert(made, MadeEndpoint)
    secret = made.pop("secret")
    assert secret.startswith("whsec_")
    path = f"/webhooks/{made['id']}"
    told: list[Any] = [made, await api.reader.ask("GET", path)]
    msgspec.convert(told[-1], EndpointShown)
    assert told[-1] == made
    assert (made["header_names"], made["rate"], made["retry_config"]["max_attempts"]) == (["x-token"], "10/s", 2)
    told.append(await api.reader.ask("GET", "/webhooks"))
    msgspec.convert(told[-1], ListPage[EndpointShown])
    told.append(await api.operator.ask("PATCH", path, 200, {"rate": None, "description": "D", "url": None}))
    assert (told[-1]["rate"], told[-1]["description"], told[-1]["url"]) == (None, "D", NEW["url"])
    told.append(await api.operator.ask("POST", f"{path}/disable", 200, {"reason": "too slow"}))
    assert told[-1]["disabled_reason"] == "too slow"
    await api.operator.ask("POST", f"{path}/test", 422)
    told.append(await api.operator.ask("POST", f"{path}/enable", 200))
    assert told[-1]["enabled"] is True
    assert (await api.operator.ask("POST", f"{path}/disable", 200))["disabled_reason"] == "disabled by hand"
    assert secret not in str(told)
    assert TOKEN not in str(told)
    for method, end, body in (
        ("GET", "", None),
        ("PATCH", "", {}),
        ("DELETE", "", None),
        ("POST", "/enable", None),
        ("POST", "/disable", None),
        ("POST", "/rotate", None),
        ("POST", "/test", None),
        ("POST", "/replay", {}),
        ("GET", "/deliveries", None),
    ):
        await api.stranger.ask(method, path + end, 404, body)
    assert (await api.stranger.ask("GET", "/webhooks"))["items"] == []
    await api.operator.ask("DELETE", path, 204)
    await api.reader.ask("GET", path, 404)
    entries = (await api.admin.ask("GET", "/audit"))["items"]
    assert [entry["subject"] for entry in entries if entry["action"] == "webhooks.add"] == [made["id"]]
    assert secret not in str(entries)


async def test_secrets_are_told_once(api: Api) -> None:
    first = await api.operator.ask("POST", "/webhooks", 201, NEW, key="k1")
    assert await api.operator.ask("POST", "/webhooks", 201, NEW, key="k1") == first | {"secret": None}
    await api.operator.ask("POST", "/webhooks", 409, NEW | {"description": "x"}, key="k1")
    assert len(api.a.webhooks.list()) == 1
    path = f"/webhooks/{first['id']}/rotate"
    other = await api.operator.ask("POST", path, 200, {"overlap": 60}, key="k2")
    msgspec.convert(other, MadeEndpoint)
    assert other["secret"] not in (None, first["secret"])
    assert (await api.operator.ask("POST", path, 200, {"overlap": 60}, key="k2"))["secret"] is None
    assert [one["valid_until"] is None for one in other["secrets"]] == [False, True]
    given = await api.operator.ask("POST", path, 200, {"secret": first["secret"], "overlap": 0})
    assert (given["secret"], len(given["secrets"])) == (first["secret"], 1)
    await api.operator.ask("POST", path, 422, {"secret": "short"})
    store = api.bell.store
    assert isinstance(store, SqliteStore)
    answers = str(store.database.run_read(lambda session: session.text_rows("SELECT * FROM workbell_answers", {})))
    assert first["id"] in answers
    for made in (first, other):
        assert made["secret"] not in answers


async def test_deliveries(api: Api) -> None:
    endpoint = await api.operator.ask("POST", "/webhooks", 201, NEW)
    path = f"/webhooks/{endpoint['id']}"
    ping = await api.operator.ask("POST", f"{path}/test", 202, key="k")
    msgspec.convert(ping, Delivery)
    assert await api.operator.ask("POST", f"{path}/test", 202, key="k") == ping
    event = await api.maker.ask("POST", "/events", 201, {"type": "posts.created"})
    await api.operator.ask("POST", f"{path}/disable", 200)
    page = await api.reader.ask("GET", f"{path}/deliveries?limit=1")
    msgspec.convert(page, ListPage[Delivery])
    assert page["items"] == [ping]
    assert (await api.reader.ask("GET", f"{path}/deliveries?before={page['next']}"))["items"] == []
    for wrong in ("before=x", "status=gone", "limit=0"):
        await api.reader.ask("GET", f"{path}/deliveries?{wrong}", 422)
    attempts = await api.reader.ask("GET", f"/webhooks/deliveries/{ping['id']}/attempts")
    msgspec.convert(attempts, ListPage[AttemptShown])
    await api.stranger.ask("GET", f"/webhooks/deliveries/{ping['id']}/attempts", 404)
    run = api.a.enqueue("send", {"to": "x"})
    await api.reader.ask("GET", f"/webhooks/deliveries/{run.id}/attempts", 404)
    await api.operator.ask("POST", f"{path}/enable", 200)
    again = await api.operator.ask("POST", f"{path}/replay", 202, {"since": "2020-01-01T00:00:00Z"})
    msgspec.convert(again, Items[Delivery])
    assert again["items"] == []
    for wrong, status in (({}, 422), ({"event": event["id"]}, 422), ({"event": "x"}, 404), ({"since": "then"}, 422)):
        await api.operator.ask("POST", f"{path}/replay", status, wrong)


async def test_a_trigger_sends_to_all_endpoints(api: Api) -> None:
    """C8: in the words of the service, and of the endpoints of one tenant alone."""
    endpoint = await api.operator.ask("POST", "/webhooks", 201, NEW | {"patterns": ["nothing.like_this"]})
    asked = {"name": "everybody", "event_pattern": "posts.*", "processor_name": "webhook-delivery"}
    trigger = await api.operator.ask("POST", "/triggers", 201, asked)
    assert trigger["processor_name"] == "webhook-delivery"
    await api.maker.ask("POST", "/events", 201, {"type": "posts.created"})
    drain(api.a, until_idle=False)  # the trigger's run, and not the delivery
    (execution,) = (await api.reader.ask("GET", f"/executions?trigger={trigger['id']}"))["items"]
    assert (execution["status"], execution["result"]["deliveries"]) == ("completed", 1)
    (delivery,) = (await api.reader.ask("GET", f"/webhooks/{endpoint['id']}/deliveries"))["items"]
    assert (await api.reader.ask("GET", f"/runs/{delivery['id']}"))["parent"] == execution["id"]
    await api.reader.ask("GET", f"/webhooks/deliveries/{delivery['id']}/attempts")
    await api.reader.ask("GET", f"/webhooks/deliveries/{execution['id']}/attempts", 404)  # it makes them, and is none


@pytest.mark.parametrize(
    "body",
    [
        {},
        NEW | {"url": "http://127.0.0.1/"},
        NEW | {"url": "no url"},
        NEW | {"patterns": []},
        NEW | {"patterns": ["a**"]},
        NEW | {"headers": {"webhook-id": "x"}},
        NEW | {"headers": {"x": "a\nb"}},
        NEW | {"rate": "often"},
        NEW | {"concurrency": 0},
        NEW | {"timeout": 31},
        NEW | {"secret": "x"},
        NEW | {"tenant": "b"},
    ],
)
async def test_endpoints_that_are_refused(api: Api, body: Any) -> None:
    await api.operator.ask("POST", "/webhooks", 422, body)
    assert api.a.webhooks.list() == []


async def test_the_query_of_a_url_is_for_who_may_change_it(api: Api) -> None:
    """There may be a token in it."""
    url = f"{NEW['url']}?key={TOKEN}"
    made = await api.operator.ask("POST", "/webhooks", 201, NEW | {"url": url})
    path = f"/webhooks/{made['id']}"
    assert made["url"] == url
    shown = [await api.reader.ask("GET", path), *(await api.reader.ask("GET", "/webhooks"))["items"]]
    assert [one["url"] for one in shown] == [f"{NEW['url']}?…"] * 2
    assert (await api.operator.ask("GET", path))["url"] == url
    await api.operator.ask("PATCH", path, 200, {"url": f"{NEW['url']}?…", "description": "D"})
    changed = await api.operator.ask("GET", path)
    assert (changed["url"], changed["description"]) == (url, "D"), "put back as it was shown, it stays"


async def test_a_repeated_answer_has_no_query_in_it(api: Api) -> None:
    """It is kept for the key, in clear."""
    url = f"{NEW['url']}?key={TOKEN}"
    first = await api.operator.ask("POST", "/webhooks", 201, NEW | {"url": url}, key="one")
    again = await api.operator.ask("POST", "/webhooks", 201, NEW | {"url": url}, key="one")
    assert (first["url"], again["url"]) == (url, f"{NEW['url']}?…")
    assert (first["secret"] is None, again["secret"]) == (False, None)
