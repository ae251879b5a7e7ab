"""Live views over the WebSocket `/ws`: runs, one run, jobs and schedules as they change (B5, S8)."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from tests.support.inside.features import Claimant, FairClaims
from tests.support.inside.http import bounded_pages, topics
from tests.support.inside.stores import Held
from tests.support.inside.values import LogLine
from tests.support.served import Served

pytestmark = pytest.mark.anyio


async def test_runs_as_they_go_on(server: Served, person: int) -> None:
    bell = server.bell
    tag = f"tag-{person}"
    before = bell.enqueue("send", {"to": "a"}, tag=tag)
    bell.enqueue("send", {"to": "other"}, tag="another")
    async with server.client() as talk:
        first = await talk.subscribe("runs", tag=tag)
        assert [item["id"] for item in first["items"]] == [before.id]
        assert first["items"] == [msgspec.to_builtins(before.as_dict()) | {"retried_by": None}]
        after = bell.enqueue("send", {"to": "b"}, tag=tag)
        changes = await talk.hear_of("a")
        assert [item["id"] for item in changes["items"]] == [after.id], "only what has changed is told"
        bell.cancel(before.id)
        changes = await talk.hear_of("a")
        assert [(item["id"], item["status"]) for item in changes["items"]] == [(before.id, "canceled")]
        queued = await talk.subscribe("runs", "q", tag=tag, status=["queued"], input={"to": "b"})
        assert [item["id"] for item in queued["items"]] == [after.id]
        bell.cancel(after.id)
        told = {heard["id"]: heard for heard in [await talk.hear(), await talk.hear()]}
        assert told["q"]["removed"] == [after.id]
        assert [item["status"] for item in told["a"]["items"]] == ["canceled"]


async def test_those_who_look_at_the_same_share_a_view(server: Served) -> None:
    async with server.client() as one, server.client() as two, server.client(tenant="other") as three:
        await one.subscribe("runs", status=["queued", "running"])
        await two.subscribe("runs", status=["running", "queued", "queued"])
        assert len(server.service.hub.views) == 1
        await three.subscribe("runs", status=["queued", "running"])
        await two.subscribe("runs", "b")
        assert len(server.service.hub.views) == 3
        await two.say(type="unsubscribe", id="b")
        assert await two.hear() == {"type": "unsubscribed", "id": "b"}
        assert len(server.service.hub.views) == 2


async def test_one_run_with_its_progress_and_its_lines(server: Served, person: int) -> None:
    bell = server.bell.for_tenant(f"run-{person}")
    store, now = bell.store, bell.store.clock.now()
    run = bell.enqueue("send", {"to": "a"})
    claimant = Claimant("w1", timedelta(seconds=30), lambda lane: lane.tenant == bell.tenant)
    (run,) = FairClaims(store).claim(claimant, 1, now)
    lines = [LogLine(run.id, 1, number, now, "INFO", f"line {number}") for number in range(3)]
    store.logs.add([(run.token, lines[0])])
    async with server.client(tenant=bell.tenant) as talk:
        first = await talk.subscribe("run", run=run.id)
        assert [item["status"] for item in first["items"]] == ["running"]
        assert [line["message"] for line in first["logs"]] == ["line 0"]
        store.logs.add([(run.token, line) for line in lines[1:]])
        store.runs.set_progress(Held(run.id, run.token), '{"done":1,"total":2,"message":"half"}')
        heard = [await talk.hear_of("a")]
        while not (any(one.get("logs") for one in heard) and any(one["items"] for one in heard)):
            heard.append(await talk.hear_of("a"))
        assert [line["message"] for one in heard for line in one.get("logs", [])] == ["line 1", "line 2"]
        assert [one["items"][0]["progress"]["done"] for one in heard if one["items"]] == [1]


async def test_jobs_and_schedules(server: Served) -> None:
    bell = server.bell
    async with server.client() as talk:
        jobs = await talk.subscribe("jobs", "jobs")
        assert "send" in [job["name"] for job in jobs["items"]]
        bell.pause(job="send")
        assert [(job["name"], job["paused"]) for job in (await talk.hear_of("jobs"))["items"]] == [("send", True)]
        bell.resume(job="send")
        assert [job["paused"] for job in (await talk.hear_of("jobs"))["items"]] == [False]
    async with server.client() as talk:
        assert (await talk.subscribe("schedules"))["items"] == []
        bell.schedules.put("nightly", job="send", cron="0 3 * * *", input={"to": "x"})
        assert [one["name"] for one in (await talk.hear_of("a"))["items"]] == ["nightly"]
        bell.schedules.delete("nightly")
        assert (await talk.hear_of("a"))["removed"] == ["nightly"]


@pytest.mark.parametrize("pattern", [None, "long.*"])
async def test_long_events_are_bounded_and_the_rest_has_a_cursor(
    server: Served, person: int, pattern: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A view of events is as large as a page of them; what does not fit comes behind its `next`."""
    monkeypatch.setattr(bounded_pages, "MOST_BYTES", 2000)
    monkeypatch.setattr(topics, "MOST_BYTES", 2000)
    client = server.bell.for_tenant(f"long-{person}")
    events = [client.emit("long.text", "x" * 300) for _ in range(5)]
    async with server.client(tenant=client.tenant) as talk:
        first = await talk.subscribe("events", **({} if pattern is None else {"pattern": pattern}))
        shown = [item["id"] for item in first["items"]]
        assert 0 < len(shown) < 5
        assert shown == [event.id for event in reversed(events)][: len(shown)]
        assert first["next"] == shown[-1]
        newest = client.emit("long.text", "x" * 300)
        changes = await talk.hear_of("a")
        assert [item["id"] for item in changes["items"]] == [newest.id]
        assert changes["removed"] == shown[-1:]
        assert changes["next"] == shown[-2]
