"""If-Match on a deletion is compared with what is deleted, not with what was there a moment before; and where there is
nothing to compare it with, the request is refused."""

from __future__ import annotations

from typing import Any

import pytest

from tests.http.conftest import Api

pytestmark = pytest.mark.anyio

CRON = {"job": "rest", "cron": "0 3 * * *"}
TRIGGER = {"name": "mails", "event_pattern": "a.*", "processor_name": "count"}


def change_before(part: Any, monkeypatch: pytest.MonkeyPatch, verb: str, change: Any) -> None:
    """Somebody changes the thing between the look and the deletion, once."""
    delete = getattr(part, verb)

    def late(*args: Any) -> bool:
        monkeypatch.setattr(part, verb, delete)
        change()
        done: bool = delete(*args)
        return done

    monkeypatch.setattr(part, verb, late)


async def test_a_schedule_that_somebody_changed_meanwhile_stays(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    await api.operator.ask("PUT", "/schedules/nightly", 200, CRON)
    old = await api.operator.etag("/schedules/nightly")
    change_before(
        api.bell.store.schedules,
        monkeypatch,
        "delete",
        lambda: api.a.schedules.put("nightly", job="rest", cron="0 4 * * *"),
    )
    await api.operator.ask("DELETE", "/schedules/nightly", 412, match=old)
    assert api.a.schedules.get("nightly").expression == "0 4 * * *"
    await api.operator.ask("DELETE", "/schedules/nightly", 204, match=await api.operator.etag("/schedules/nightly"))
    await api.operator.ask("DELETE", "/schedules/nightly", 404)


async def test_a_tick_meanwhile_is_no_change(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what somebody can change is compared: the scheduler moves a schedule all the time."""
    await api.operator.ask("PUT", "/schedules/nightly", 200, CRON)

    def move() -> None:
        api.a.schedules.pause("nightly")
        api.a.schedules.resume("nightly")

    for match in ({"match": await api.operator.etag("/schedules/nightly")}, {}):
        change_before(api.bell.store.schedules, monkeypatch, "delete", move)
        await api.operator.ask("DELETE", "/schedules/nightly", 204, **match)
        assert api.a.schedules.list() == []
        await api.operator.ask("PUT", "/schedules/nightly", 200, CRON)


async def test_a_trigger_that_somebody_changed_meanwhile_stays(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    made = await api.operator.ask("POST", "/triggers", 201, TRIGGER)
    path = f"/triggers/{made['id']}"
    change_before(
        api.bell.store.subscribers, monkeypatch, "delete_trigger", lambda: api.a.triggers.update("mails", pattern="b.*")
    )
    await api.operator.ask("DELETE", path, 412, match=await api.operator.etag(path))
    assert api.a.triggers.get("mails").pattern == "b.*"
    await api.operator.ask("DELETE", path, 204, match=await api.operator.etag(path))


async def test_a_job_that_somebody_changed_meanwhile_stays(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    await api.operator.ask("PUT", "/jobs/send-eu", 200, {"handler": "send"})
    change_before(api.bell.store.definitions, monkeypatch, "delete", lambda: api.a.jobs.put("send-eu", handler="rest"))
    await api.operator.ask("DELETE", "/jobs/send-eu", 412, match=await api.operator.etag("/jobs/send-eu"))
    assert api.a.jobs.get("send-eu").handler == "rest"
    await api.operator.ask("DELETE", "/jobs/send-eu", 204, match=await api.operator.etag("/jobs/send-eu"))
    await api.operator.ask("DELETE", "/jobs/send-eu", 404)


async def test_where_nothing_has_an_etag_a_condition_is_refused(api: Api) -> None:
    """A condition that is not checked must not be taken for one that holds."""
    await api.operator.ask("PUT", "/schedules/nightly", 200, CRON)
    made = await api.admin.ask("POST", "/webhooks", 201, {"url": "https://hooks.example.com/x", "patterns": ["a"]})
    hook = f"/webhooks/{made['id']}"
    for method, path, body in (
        ("DELETE", hook, None),
        ("PATCH", hook, {"description": "x"}),
        ("POST", "/schedules/nightly/pause", None),
        ("POST", "/queues/default/pause", None),
        ("POST", "/runs", {"job": "rest"}),
    ):
        for condition in ('"nope"', '"a", "b"', ""):
            refused = await api.admin.ask(method, path, 412, body, match=condition)
            assert refused["detail"] == "This operation compares no ETag; leave If-Match out."
    assert (len(api.a.webhooks.list()), api.a.schedules.get("nightly").paused, api.a.pauses()) == (1, False, [])
    assert api.a.runs() == []
    await api.nobody.ask("DELETE", hook, 401, match='"nope"')
    await api.reader.ask("GET", hook, 200, match='"nope"')
    await api.admin.ask("POST", "/schedules/nightly/pause", 200, match="*")
    await api.admin.ask("DELETE", hook, 204, match=" * ")


async def test_where_a_condition_is_checked_it_is_declared(api: Api) -> None:
    await api.operator.ask("POST", "/jobs/send/pause", 412, match='"nope"')
    await api.operator.ask("POST", "/jobs/send/pause", 200, match=await api.operator.etag("/jobs/send"))
    await api.operator.ask("POST", "/jobs/send/resume", 200, match=await api.operator.etag("/jobs/send"))
