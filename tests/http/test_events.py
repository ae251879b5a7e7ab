"""Events, triggers and executions over HTTP: told once, found again, and changed by nobody unseen."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from tests.http.conftest import Api
from tests.support.inside.values import EventCount, Matched
from tests.support.inside.wire import EventShown, EventSubscribers, Items, ListPage, TriggerShown
from workbell import Execution, Invocation
from workbell.testing import drain

pytestmark = pytest.mark.anyio

NEW = {"type": "posts.created", "data": {"id": 7}, "subject": "7", "source": "/blog", "key": "p7"}
TRIGGER = {"name": "mails", "event_pattern": "posts.*", "processor_name": "count"}
NOBODY = "0198c2f3-5a6b-7c8d-9e0f-1a2b3c4d5e6f"


async def test_emitting_and_finding(api: Api) -> None:
    told = await api.maker.ask("POST", "/events", 201, NEW)
    msgspec.convert(told, EventShown)
    assert {word: told[word] for word in NEW} == NEW
    assert told["tenant"] == "a"
    assert await api.reader.ask("GET", f"/events/{told['id']}") == told
    assert (await api.maker.ask("POST", "/events", 201, NEW))["id"] == told["id"]
    for number in range(3):
        await api.maker.ask("POST", "/events", 201, {"type": f"looks.n{number}"})
    page = await api.reader.ask("GET", "/events?type=looks.*&limit=2")
    msgspec.convert(page, ListPage[EventShown])
    assert [one["type"] for one in page["items"]] == ["looks.n2", "looks.n1"]
    rest = await api.reader.ask("GET", f"/events?type=looks.*&limit=2&before={page['next']}")
    assert ([one["type"] for one in rest["items"]], rest["next"]) == (["looks.n0"], None)
    assert (await api.stranger.ask("GET", "/events"))["items"] == []
    await api.stranger.ask("GET", f"/events/{told['id']}", 404)
    await api.stranger.ask("GET", f"/events/{told['id']}/matches", 404)


async def test_the_idempotency_key_becomes_the_key(api: Api) -> None:
    body = {"type": "posts.created", "data": 1}
    first = await api.operator.ask("POST", "/events", 201, body, key="k1")
    assert first["key"] == "k1"
    assert await api.operator.ask("POST", "/events", 201, body, key="k1") == first
    await api.operator.ask("POST", "/events", 409, body | {"data": 2}, key="k1")
    own = await api.operator.ask("POST", "/events", 201, NEW, key="k2")
    assert own["key"] == "p7"
    await api.operator.ask("POST", "/events", 409, NEW | {"data": 2}, key="k2")
    assert len((await api.reader.ask("GET", "/events"))["items"]) == 2


async def test_who_may_only_tell_reads_nothing(api: Api) -> None:
    await api.operator.ask("POST", "/events", 201, NEW | {"data": "private"})
    again = await api.maker.ask("POST", "/events", 201, NEW | {"data": "guess"})
    assert again["data"] == "guess"


async def test_many_at_once(api: Api) -> None:
    body: dict[str, Any] = {"events": [{"type": f"many.n{number}"} for number in range(3)]}
    told = await api.operator.ask("POST", "/events/batch", 201, body, key="k" * 180)
    msgspec.convert(told, Items[EventShown])
    assert [one["type"] for one in told["items"]] == ["many.n0", "many.n1", "many.n2"]
    assert await api.operator.ask("POST", "/events/batch", 201, body, key="k" * 180) == told
    body["events"].append({"type": "not a type"})
    await api.operator.ask("POST", "/events/batch", 422, body)
    await api.operator.ask("POST", "/events/batch", 422, {"events": []})
    await api.operator.ask("POST", "/events/batch", 422, {"events": [{"type": "a"}] * 1001})
    twice = await api.operator.ask("POST", "/events/batch", 201, {"events": [NEW, NEW]})
    assert len({one["id"] for one in twice["items"]}) == 1
    assert len((await api.reader.ask("GET", "/events"))["items"]) == 4


async def test_cloud_events(api: Api) -> None:
    event = {"specversion": "1.0", "id": "c1", "source": "/shop", "type": "orders.paid", "data": [1], "trace": "x"}
    event["time"] = "2026-01-02T03:04:05+01:00"
    sent: dict[str, Any] = {"headers": {"Content-Type": "application/cloudevents+json; charset=utf-8"}}
    told = (await api.maker.send("POST", "/events", content=json.dumps(event), **sent)).json()
    msgspec.convert(told, EventShown)
    assert (told["key"], told["source"], told["type"], told["data"]) == ("c1", "/shop", "orders.paid", [1])
    assert told["time"] == "2026-01-02T02:04:05Z"
    again = await api.maker.send("POST", "/events", content=json.dumps(event), **sent)
    assert again.json()["id"] == told["id"]
    for wrong in ({"specversion": "0.3"}, {"id": ""}, {"data_base64": "AAAA"}, {"time": "2026-01-02T03:04:05"}):
        answer = await api.maker.send("POST", "/events", content=json.dumps(event | wrong), **sent)
        assert answer.status_code == 422, wrong


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"type": ""},
        {"type": "a b"},
        {"type": "job.failed"},
        {"type": "a", "source": "/workbell"},
        {"type": "a", "key": "\x00"},
        {"type": "a", "subject": "\x00"},
        {"type": "a", "more": 1},
        {"type": "a", "data": "x" * 300_000},
    ],
)
async def test_events_that_are_refused(api: Api, body: Any) -> None:
    await api.maker.ask("POST", "/events", 422, body)
    assert api.a.events.list() == []


async def test_where_a_body_is_wrong(api: Api) -> None:
    """A body is read as its media type says: a CloudEvent may have extensions, and needs other fields."""
    cloud = {"Content-Type": "application/cloudevents+json"}
    many = [{"type": "a"}, {"type": "a", "data": 1, "key": 5}]
    for path, headers, body, where in (
        ("/events", {}, {"type": 5}, "body.type"),
        ("/events", {}, {"type": "a", "trace": "x"}, "body.trace"),
        ("/events/batch", {}, {"events": many}, "body.events.1.key"),
        ("/events", cloud, {"type": "a", "trace": "x"}, "body.specversion"),
        ("/events", cloud, {"specversion": "0.3", "id": "1", "source": "/", "type": "a"}, "body.specversion"),
    ):
        content = json.dumps(body)
        answer = await api.maker.send("POST", path, content=content, headers=headers)
        assert answer.status_code == 422, answer.text
        assert [one["where"] for one in answer.json()["errors"]] == [where]
    assert api.a.events.list() == []


async def test_what_a_trigger_starts(api: Api) -> None:
    trigger = await api.operator.ask("POST", "/triggers", 201, TRIGGER)
    msgspec.convert(trigger, TriggerShown)
    heard = await api.reader.ask("GET", "/events/match?type=posts.created")
    msgspec.convert(heard, EventSubscribers)
    assert [(one["kind"], one["name"], one["job"]) for one in heard["items"]] == [("trigger", "mails", "count")]
    assert heard["matches"] is None
    for pattern, answer in (("posts.*", True), ("*", True), ("posts", False), ("posts.created.**", False)):
        assert (await api.reader.ask("GET", f"/events/match?type=posts.created&pattern={pattern}"))["matches"] is answer
    assert (await api.reader.ask("GET", "/events/match?type=job.failed&pattern=**"))["matches"] is False
    await api.reader.ask("GET", "/events/match?type=posts.created&pattern=po*", 422)
    for wrong in ("posts..created", "posts..created&system=false"):
        assert "posts..created" in (await api.reader.ask("GET", f"/events/match?type={wrong}", 422))["detail"]
    assert (await api.stranger.ask("GET", "/events/match?type=posts.created"))["items"] == []
    await api.reader.ask("GET", "/events/match", 422)
    event = await api.maker.ask("POST", "/events", 201, {"type": "posts.created"})
    count = {"event": event["id"], "type": "posts.created", "fanned_out": False, "count": 0, "started": 0}
    path = f"/events/counts?event={event['id']}&event={NOBODY}&event=x"
    counted = await api.reader.ask("GET", path)
    msgspec.convert(counted, Items[EventCount])
    assert counted["items"] == [count | {"capped": False}]
    drain(api.bell)
    assert (await api.reader.ask("GET", path))["items"][0] == counted["items"][0] | {
        "fanned_out": True,
        "count": 1,
        "started": 1,
    }
    assert (await api.stranger.ask("GET", path))["items"] == []
    await api.reader.ask("GET", "/events/counts", 422)
    matches = await api.reader.ask("GET", f"/events/{event['id']}/matches")
    msgspec.convert(matches, ListPage[Matched])
    assert [(one["name"], one["outcome"]) for one in matches["items"]] == [("mails", "started")]
    of_trigger = await api.reader.ask("GET", "/triggers/mails/matches?limit=1")
    assert of_trigger == {"items": matches["items"], "next": event["id"]}
    assert (await api.reader.ask("GET", f"/triggers/mails/matches?before={event['id']}"))["items"] == []
    await api.stranger.ask("GET", f"/triggers/{trigger['id']}/matches", 404)
    for wrong in ("before=x", "limit=0"):
        await api.reader.ask("GET", f"/triggers/mails/matches?{wrong}", 422)
    page = await api.reader.ask("GET", "/executions?trigger=mails&status=completed&limit=1")
    msgspec.convert(page, ListPage[Execution])
    [execution] = page["items"]
    assert (execution["job_id"], execution["event_id"]) == (trigger["id"], event["id"])
    assert (await api.reader.ask("GET", f"/executions?before={page['next']}"))["items"] == []
    assert await api.reader.ask("GET", f"/executions/{execution['id']}") == execution
    invocations = await api.reader.ask("GET", f"/executions/{execution['id']}/invocations")
    msgspec.convert(invocations, ListPage[Invocation])
    assert [one["status"] for one in invocations["items"]] == ["success"]
    for path in (f"/executions/{execution['id']}", f"/executions/{execution['id']}/invocations"):
        await api.stranger.ask("GET", path, 404)
    assert (await api.stranger.ask("GET", f"/executions?trigger={trigger['id']}"))["items"] == []
    for path in ("/executions?status=gone", "/executions?before=x", "/executions?limit=0"):
        await api.reader.ask("GET", path, 422)
    for path in ("/executions?trigger=nobody", f"/executions?event={NOBODY}", f"/executions/{NOBODY}"):
        await api.reader.ask("GET", path, 404)


async def test_a_trigger_is_changed_by_who_has_read_it(api: Api) -> None:
    made = await api.operator.ask("POST", "/triggers", 201, TRIGGER | {"retry_config": {"max_attempts": 5}}, key="k")
    assert await api.operator.ask("POST", "/triggers", 201, TRIGGER | {"retry_config": {"max_attempts": 5}}, key="k")
    await api.operator.ask("POST", "/triggers", 409, TRIGGER)
    assert made["retry_config"]["max_attempts"] == 5
    msgspec.convert(await api.reader.ask("GET", "/triggers"), ListPage[TriggerShown])
    path = f"/triggers/{made['id']}"
    old = await api.reader.etag(path)
    answer = await api.reader.send("GET", "/triggers/mails", headers={"If-None-Match": old})
    assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", old)
    changed = await api.operator.ask("PATCH", path, 200, {"event_pattern": "a.**", "retry_config": None}, match=old)
    assert (changed["event_pattern"], changed["retry_config"]) == ("a.**", None)
    new = await api.reader.etag(path)
    assert new != old
    await api.operator.ask("PATCH", path, 412, {"description": "x"}, match=old)
    for verb in ("enable", "disable"):
        await api.operator.ask("POST", f"{path}/{verb}", 412, match=old)
    await api.operator.ask("DELETE", path, 412, match=old)
    assert api.a.triggers.get("mails").description == ""
    assert (await api.operator.ask("POST", f"{path}/disable", 200, match=new))["enabled"] is False
    assert (await api.operator.ask("POST", f"{path}/enable", 200, match="*"))["enabled"] is True
    assert (await api.operator.ask("PATCH", path, 200, {"name": None, "description": "D"}))["description"] == "D"
    for method, end in (("GET", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "/enable")):
        await api.stranger.ask(method, path + end, 404, {} if method == "PATCH" else None)
    await api.operator.ask("DELETE", path, 204, match=await api.reader.etag(path))
    await api.reader.ask("GET", path, 404)
    entries = (await api.admin.ask("GET", "/audit"))["items"]
    assert {entry["subject"] for entry in entries if entry["action"] == "triggers.add"} == {made["id"]}


@pytest.mark.parametrize(
    "body",
    [
        TRIGGER | {"processor_name": "nobody"},
        TRIGGER | {"processor_name": "send"},
        TRIGGER | {"event_pattern": "a**"},
        TRIGGER | {"name": " "},
        TRIGGER | {"retry_config": {"max_attempts": 0}},
        TRIGGER | {"pattern": "a"},
        {},
    ],
)
async def test_triggers_that_are_refused(api: Api, body: Any) -> None:
    await api.operator.ask("POST", "/triggers", 422, body)
    assert api.a.triggers.list() == []
