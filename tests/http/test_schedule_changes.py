"""PATCH of a schedule: what is named changes, the rest stays, and nobody overwrites what another changed (E1)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.http.conftest import Api
from tests.support.inside.features import SCHEDULE_SETTINGS as NAMES
from tests.support.inside.features import Declaration
from tests.support.inside.wire import ScheduleUpdateBody
from tests.support.retry_policies import POLICIES
from workbell import Retry

pytestmark = pytest.mark.anyio

PATH = "/schedules/nightly"
URL = "https://hooks.example.com/services/key"
WHOLE: dict[str, Any] = {
    "job": "send",
    "cron": "0 3 * * *",
    "timezone": "Europe/Paris",
    "input": {"to": "x"},
    "window": ["02:00", "06:00"],
    "overlap": "allow",
    "priority": 7,
    "user_id": "ada",
    "retry": {"max_retries": 2, "backoff_ms": 500},
    "alert_url": URL,
}
BY_ITSELF = {"updated_at", "next_run_at", "last_scheduled_at"}


def test_every_setting_can_be_changed() -> None:
    assert set(ScheduleUpdateBody.__struct_fields__) == NAMES | {"job", "kind", "expression", "retry_policy"}


async def test_what_is_named_changes_and_the_rest_stays(api: Api) -> None:
    made = await api.operator.ask("PUT", PATH, 200, WHOLE)
    told = await api.operator.ask("PATCH", PATH, 200, {"cron": "30 4 * * *", "window": None})
    assert {word for word in told if told[word] != made[word]} - BY_ITSELF == {"expression", "in_words", "window"}
    assert (told["expression"], told["window"], told["created_by"]) == ("30 4 * * *", None, made["created_by"])
    stored = api.a.schedules.get("nightly")
    assert (stored.options.alert_url, stored.options.priority) == (URL, 7)
    told = await api.admin.ask("PATCH", PATH, 200, {"retry": {"attempts": 5}, "user_id": 7, "alert_url": None})
    assert (told["retry"]["attempts"], told["user_id"], told["alert_url"]) == (5, 7, None)
    assert told["created_by"] == made["created_by"]  # whoever changes it
    assert await api.operator.ask("PATCH", PATH, 200, {}) == told
    told = await api.operator.ask("PATCH", PATH, 200, {"job": "rest", "input": None})
    assert (told["job"], told["input"]) == ("rest", {})


@pytest.mark.parametrize(("policy", "meant"), POLICIES, ids=str)
async def test_each_field_of_a_retry_policy_is_optional(api: Api, policy: dict[str, Any], meant: Retry) -> None:
    """E3: what is left out has its default, without jitter, over HTTP as in Python."""
    told = await api.operator.ask("PUT", PATH, 200, WHOLE | {"retry": policy})
    stored = api.a.schedules.get("nightly").options
    assert (stored.retry, told["retry"]["jitter"]) == (meant, 0)
    declared = api.a.schedules.put("nightly", job="send", cron="0 3 * * *", input={"to": "x"}, retry=policy)
    assert declared.options.retry == meant


async def test_only_what_was_read(api: Api) -> None:
    await api.operator.ask("PUT", PATH, 200, WHOLE)
    old = await api.operator.etag(PATH)
    answer = await api.operator.send("PATCH", PATH, json={"priority": 1}, headers={"If-Match": old})
    assert (answer.status_code, answer.headers["etag"]) == (200, await api.operator.etag(PATH))
    await api.operator.ask("PATCH", PATH, 412, {"priority": 2}, match=old)
    assert api.a.schedules.get("nightly").options.priority == 1
    await api.operator.ask("PATCH", PATH, 200, {"priority": 2}, match=await api.operator.etag(PATH))


async def test_what_is_refused_changes_nothing(api: Api) -> None:
    await api.operator.ask("PUT", PATH, 200, WHOLE)
    before = api.a.schedules.get("nightly")
    for wrong in (
        {"cron": None},
        {"cron": "61 * * * *"},
        {"every": 60, "at": "2100-01-01T00:00:00Z"},
        {"job": None},
        {"job": ""},
        {"job": "nobody"},
        {"input": None},
        {"input": {"to": 5}},
        {"priority": 101},
        {"overlap": "maybe"},
        {"color": "red"},
        {"name": "other"},
        {"alert_url": "http://127.0.0.1/"},
        {"enabled": "maybe"},
        [],
    ):
        await api.operator.ask("PATCH", PATH, 422, wrong)
    assert api.a.schedules.get("nightly") == before
    for caller, status in ((api.nobody, 401), (api.reader, 403), (api.maker, 403), (api.stranger, 404)):
        await caller.ask("PATCH", PATH, status, {"priority": 1})
    await api.operator.ask("PATCH", "/schedules/nobody", 404, {"priority": 1})
    await api.operator.ask("PATCH", "/schedules/nobody", 404, {"priority": 1}, match="*")
    assert api.a.schedules.get("nightly") == before


async def test_a_retry_policy_of_either_kind(api: Api) -> None:
    told = await api.operator.ask("PUT", PATH, 200, WHOLE)
    assert told["retry_policy"] == {"max_retries": 2, "backoff_ms": 500, "backoff_type": "fixed"}
    told = await api.operator.ask("PATCH", PATH, 200, {"retry": {"max_retries": 1}})
    assert told["retry_policy"] == {"max_retries": 1, "backoff_ms": 500, "backoff_type": "fixed"}
    told = await api.operator.ask("PATCH", PATH, 200, {"retry": {"attempts": 4, "give_up_on": ["ValueError"]}})
    assert (told["retry"]["attempts"], told["retry"]["give_up_on"], told["retry_policy"]) == (4, ["ValueError"], None)
    refused = await api.operator.ask("PATCH", PATH, 422, {"retry": {"max_retries": 1, "attempts": 2}})
    [problem] = refused["errors"]
    assert problem["where"] == "body.retry"
    assert "two kinds of policies" in problem["what"]
    refused = await api.operator.ask("PATCH", PATH, 422, {"retry": {"attempts": 0}})
    assert refused["errors"][0]["where"] == "body.retry.attempts"
    assert (await api.operator.ask("PATCH", PATH, 200, {"retry": None}))["retry"] is None


async def test_what_code_declares_is_changed_there(api: Api) -> None:
    api.a.schedules.put_all([Declaration("nightly", "rest", {"every": 60})], source="code:shop")
    told = await api.operator.ask("PATCH", PATH, 422, {"priority": 1})
    assert "change it there" in told["detail"]
    assert (await api.operator.ask("POST", f"{PATH}/pause"))["paused"] is True


async def test_it_is_in_the_audit_log(api: Api) -> None:
    await api.operator.ask("PUT", PATH, 200, WHOLE)
    await api.operator.ask("PATCH", PATH, 200, {"alert_url": "https://other.example.com/secret"})
    await api.operator.ask("PATCH", PATH, 422, {"cron": None})
    (entry, *_) = (await api.admin.ask("GET", "/audit"))["items"]
    assert (entry["action"], entry["subject"]) == ("schedules.change", "nightly")
    assert "secret" not in str(entry)
