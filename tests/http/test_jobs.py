"""Jobs as data over HTTP: definitions are put, read, switched and deleted, under ETags and scopes, and audited (D2)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.http.conftest import Api
from tests.support.inside.http import bounded_pages
from tests.support.inside.values import is_id
from workbell.testing import drain

pytestmark = pytest.mark.anyio

EU = {"handler": "send", "input": {"urgent": True}, "queue": "eu", "retry": {"attempts": 2}, "tag": "t"}


async def test_the_life_of_a_definition(api: Api) -> None:
    made = await api.operator.ask("PUT", "/jobs/send-eu", 200, EU)
    assert is_id(made["id"])
    assert (made["source"], made["version"], made["enabled"], made["tenant"]) == ("api", 1, True, "a")
    assert (made["handler"], made["input"], made["queue"], made["tag"]) == ("send", {"urgent": True}, "eu", "t")
    assert made["retry"]["attempts"] == 2
    assert made["input_schema"]["required"] == ["to"]
    assert made["input_schema"]["properties"]["urgent"]["default"] is True
    full = await api.operator.ask("PUT", "/jobs/send-all", 200, {"handler": "send", "input": {"to": "all"}})
    assert (full["input_schema"]["required"], full["input_schema"]["properties"]["to"]["default"]) == ([], "all")
    await api.operator.ask("DELETE", "/jobs/send-all", 204)
    assert "No worker is running" in made["unserved"]
    assert await api.reader.ask("GET", "/jobs/send-eu") == made
    listed = (await api.reader.ask("GET", "/jobs"))["items"]
    assert {one["name"]: one["source"] for one in listed} == {
        "count": "code",
        "rest": "code",
        "send": "code",
        "send-eu": "api",
    }
    changed = await api.operator.ask("PUT", "/jobs/send-eu", 200, EU | {"input": {"urgent": False}})
    assert (changed["id"], changed["created_at"], changed["version"]) == (made["id"], made["created_at"], 2)
    assert not (await api.operator.ask("POST", "/jobs/send-eu/disable"))["enabled"]
    assert (await api.operator.ask("POST", "/jobs/send-eu/enable"))["enabled"]
    await api.operator.ask("DELETE", "/jobs/send-eu", 204)
    await api.operator.ask("DELETE", "/jobs/send-eu", 404)
    actions = [(entry.action, entry.subject) for entry in api.a.audit.list() if entry.action.startswith("jobs.")]
    assert actions == [
        ("jobs.delete", "send-eu"),
        ("jobs.enable", "send-eu"),
        ("jobs.disable", "send-eu"),
        ("jobs.put", "send-eu"),
        ("jobs.delete", "send-all"),
        ("jobs.put", "send-all"),
        ("jobs.put", "send-eu"),
    ]


async def test_what_is_named_changes_and_the_rest_stays(api: Api) -> None:
    whole = EU | {"alert_url": "https://hooks.example.com/services/key", "rate": "7/m", "description": "To Europe"}
    made = await api.operator.ask("PUT", "/jobs/send-eu", 200, whole)
    old = await api.operator.etag("/jobs/send-eu")
    told = await api.operator.ask("PATCH", "/jobs/send-eu", 200, {"timeout": 9, "rate": None}, match=old)
    assert {word for word in told if told[word] != made[word]} == {"timeout", "rate", "version", "updated_at"}
    assert (told["timeout"], told["rate"], told["version"]) == (9, None, 2)
    stored = api.a.jobs.get("send-eu")
    assert stored.alert_url == whole["alert_url"]
    await api.operator.ask("PATCH", "/jobs/send-eu", 412, {"timeout": 10}, match=old)
    assert await api.operator.ask("PATCH", "/jobs/send-eu", 200, {}) == told
    told = await api.operator.ask("PATCH", "/jobs/send-eu", 200, {"input": None, "tag": None, "enabled": False})
    assert (told["input"], told["tag"], told["enabled"], told["queue"]) == (None, None, False, "eu")
    for wrong in ({"handler": None}, {"input": {"colour": 1}}, {"priority": 101}, []):
        await api.operator.ask("PATCH", "/jobs/send-eu", 422, wrong)
    assert (await api.operator.ask("PATCH", "/jobs/send", 422, {"timeout": 9}))["detail"].startswith(
        "job send: code declares it, so it is changed there"
    )
    await api.operator.ask("PATCH", "/jobs/nobody", 404, {"timeout": 9})
    await api.reader.ask("PATCH", "/jobs/send-eu", 403, {"timeout": 9})
    await api.stranger.ask("PATCH", "/jobs/send-eu", 404, {"timeout": 9})
    assert await api.operator.ask("GET", "/jobs/send-eu") == told
    assert [entry.action for entry in api.a.audit.list()][:2] == ["jobs.change", "jobs.change"]


async def test_runs_are_merged_and_served(api: Api) -> None:
    await api.operator.ask("PUT", "/jobs/send-eu", 200, EU)
    one = await api.maker.ask("POST", "/runs", 201, {"job": "send-eu", "input": {"to": "x"}})
    assert api.a.get(one["id"]).input == {"to": "x", "urgent": True}
    batch = {"runs": [{"job": "send-eu", "input": {"to": "y", "urgent": None}}]}
    many = await api.maker.ask("POST", "/runs/batch", 201, batch)
    assert api.a.get(many["items"][0]["id"]).input == {"to": "y"}
    assert {run.job for run in drain(api.bell)} == {"send-eu"}
    await api.maker.ask("POST", "/runs", 422, {"job": "send-eu"})
    await api.operator.ask("POST", "/jobs/send-eu/disable")
    refused = await api.maker.ask("POST", "/runs", 409, {"job": "send-eu", "input": {"to": "x"}})
    assert refused["type"].endswith(":JobDisabled")


async def test_lost_updates(api: Api) -> None:
    refused = await api.operator.ask("PUT", "/jobs/send-eu", 412, EU, match='"x"')
    assert refused["detail"] == "There is nothing of this name to change (If-Match); leave that out to make it."
    await api.operator.ask("PUT", "/jobs/send-eu", 200, EU, none_match="*")
    await api.operator.ask("PUT", "/jobs/send-eu", 412, EU, none_match="*")
    old = await api.operator.etag("/jobs/send-eu")
    assert (await api.reader.send("GET", "/jobs/send-eu", headers={"If-None-Match": old})).status_code == 304
    await api.operator.ask("PUT", "/jobs/send-eu", 200, EU | {"queue": "other"}, match=old)
    for method, path, body in (
        ("PUT", "", EU),
        ("POST", "/enable", None),
        ("POST", "/disable", None),
        ("DELETE", "", None),
    ):
        refused = await api.operator.ask(method, f"/jobs/send-eu{path}", 412, body, match=old)
        assert "read it again, and send its ETag" in refused["detail"]
    new = await api.operator.etag("/jobs/send-eu")
    await api.operator.ask("DELETE", "/jobs/send-eu", 204, match=new)


async def test_what_somebody_changed_meanwhile_stays(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store compares the version as it writes."""
    await api.operator.ask("PUT", "/jobs/send-eu", 200, EU)
    old = await api.operator.etag("/jobs/send-eu")
    part = api.bell.store.definitions
    write = part.write

    def late(*args: Any) -> bool:
        monkeypatch.setattr(part, "write", write)
        api.a.jobs.put("send-eu", handler="rest")
        return write(*args)

    monkeypatch.setattr(part, "write", late)
    await api.operator.ask("PUT", "/jobs/send-eu", 412, EU | {"queue": "q"}, match=old)
    assert api.a.jobs.get("send-eu").handler == "rest"


async def test_the_list_comes_in_pages(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        api.a.jobs.put(f"send-{number}", handler="send", input={"to": "x" * 100})
    whole = await api.reader.ask("GET", "/jobs")
    names = [job["name"] for job in whole["items"]]
    assert (names, whole["next"]) == (["count", "rest", "send", "send-0", "send-1", "send-2"], None)
    page = await api.reader.ask("GET", "/jobs?limit=4")
    assert (page["items"], page["next"], page["problems"]) == (whole["items"][:4], "send-0", [])
    rest = await api.reader.ask("GET", "/jobs?limit=4&after=send-0")
    assert (rest["items"], rest["next"]) == (whole["items"][4:], None)
    assert (await api.reader.ask("GET", "/jobs?after=zzz"))["items"] == []
    monkeypatch.setattr(bounded_pages, "MOST_BYTES", 1)
    found, cursor = list[Any](), ""
    while cursor is not None:
        page = await api.reader.ask("GET", f"/jobs?after={cursor}")
        assert len(page["items"]) <= 1
        found, cursor = found + page["items"], page["next"]
    assert found == whole["items"]


@pytest.mark.parametrize(
    ("name", "body", "status", "error"),
    [
        ("send-eu", {}, 422, "InvalidRequest"),
        ("send-eu", EU | {"colour": 1}, 422, "InvalidRequest"),
        ("send-eu", EU | {"input": {"colour": 1}}, 422, "InvalidInput"),
        ("send-eu", EU | {"handler": "webhook-alert"}, 422, "InvalidOption"),
        ("send-eu", EU | {"rate": "often"}, 422, "InvalidOption"),
        ("send", EU, 409, "JobExists"),
        ("bulk-action", EU, 409, "JobExists"),
        (" x", EU, 422, "JobsError"),
    ],
)
async def test_what_is_refused(api: Api, name: str, body: dict[str, Any], status: int, error: str) -> None:
    answer = await api.operator.ask("PUT", f"/jobs/{name}", status, body)
    assert answer["type"].endswith(f":{error}")
    assert api.bell.store.definitions.list() == []


async def test_one_that_a_schedule_names_stays(api: Api) -> None:
    await api.operator.ask("PUT", "/jobs/send-eu", 200, EU)
    await api.operator.ask(
        "PUT", "/schedules/nightly", 200, {"job": "send-eu", "cron": "0 3 * * *", "input": {"to": "x"}}
    )
    answer = await api.operator.ask("DELETE", "/jobs/send-eu", 409)
    assert "schedule nightly would still start it" in answer["detail"]
    made = await api.operator.ask("POST", "/schedules/nightly/run", 201)
    assert api.a.get(made["id"]).input == {"to": "x", "urgent": True}


async def test_another_tenant_has_its_own(api: Api) -> None:
    await api.operator.ask("PUT", "/jobs/send-eu", 200, EU)
    await api.stranger.ask("GET", "/jobs/send-eu", 404)
    await api.stranger.ask("DELETE", "/jobs/send-eu", 404)
    await api.stranger.ask("PUT", "/jobs/send-eu", 200, {"handler": "rest"})
    assert (await api.reader.ask("GET", "/jobs/send-eu"))["handler"] == "send"
    await api.reader.ask("PUT", "/jobs/send-eu", 403, EU)


async def test_urls_are_never_shown_in_full(api: Api) -> None:
    url = "https://93.184.216.34/hooks/secret"
    made = await api.operator.ask("PUT", "/jobs/send-eu", 200, EU | {"alert_url": url})
    assert "secret" not in made["alert_url"]
    again = await api.operator.ask("PUT", "/jobs/send-eu", 200, EU | {"alert_url": made["alert_url"]})
    assert again["version"] == 1
    found = api.a.jobs.get("send-eu")
    assert found.alert_url is not None
