"""What GET gives, PUT, PATCH and POST take back: jobs, schedules, triggers and endpoints, with all their options."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from msgspec.json import decode, encode
from msgspec.structs import replace

from tests.http.conftest import Api, served
from tests.support.inside.features import LocalClient
from tests.support.inside.wire import OPERATIONS, PREFIX, RetryShown, openapi
from workbell import Retry, Workbell

JSON = dict[str, Any]
URL = "https://hooks.example.com/services/key"
OWN = ("id", "name")  # fields of one thing alone: a copy leaves them out
NEW = {*OWN, "created_at", "updated_at", "version"}  # that a copy has of its own
ROUND_TRIPS = (
    "jobs.put",
    "jobs.change",
    "schedules.put",
    "schedules.change",
    "triggers.add",
    "triggers.change",
    "webhooks.add",
    "webhooks.change",
)

many = settings(max_examples=20, deadline=None, phases=[Phase.generate])  # a smaller example takes too many requests


class Desk:
    """One operator, who calls the API from a test that is not async."""

    def __init__(self, bell: Workbell, http: httpx2.AsyncClient, runner: asyncio.Runner) -> None:
        self.client: LocalClient = bell.for_tenant("a")
        self._token = bell.tokens.create("o", scopes=["operate"], tenant="a").text
        self._http = http
        self._runner = runner

    def ask(self, method: str, path: str, body: JSON | None = None) -> JSON:
        answer = self._runner.run(
            self._http.request(
                method,
                f"{PREFIX}{path}",
                headers={"Authorization": f"Bearer {self._token}"},
                json=body,
            )
        )
        assert answer.status_code in (200, 201, 204), f"{method} {path} {body}: {answer.text}"
        return answer.json() if answer.content else {}

    def stays(self, path: str, shown: JSON, *methods: str) -> None:
        """What was read is sent back, and nothing changes by it."""
        for method in methods:
            self.ask(method, path, shown)
            assert self.ask("GET", path) == shown


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    folder = tmp_path_factory.mktemp("round_trips")
    with served(f"sqlite:///{folder}/workbell.db", folder) as (bell, app), asyncio.Runner() as runner:
        http = httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://localhost")
        yield Desk(bell, http, runner)
        runner.run(http.aclose())


spans = st.floats(0.1, 1e6) | st.integers(1, 10**6)
words = st.text("abcä-_ 1", min_size=1, max_size=12).map(lambda text: f"x{text}x")
flags = st.booleans()
retries = st.fixed_dictionaries(
    {},
    optional={
        "attempts": st.integers(1, 20),
        "delay": spans,
        "factor": st.floats(1, 20),
        "cap": spans,
        "jitter": st.floats(0, 2),
        "give_up_on": st.lists(words, max_size=2),
        "only_on": st.lists(words, max_size=2),
    },
)
retry_words = st.fixed_dictionaries(
    {"max_retries": st.integers(0, 9)},
    optional={"backoff_ms": st.integers(0, 10**6), "backoff_type": st.sampled_from(["fixed", "exponential"])},
)
retry_configs = st.fixed_dictionaries(
    {},
    optional={
        "max_attempts": st.integers(1, 20),
        "initial_delay_ms": st.floats(0, 1e6),
        "backoff_multiplier": st.floats(1, 20),
        "max_delay_ms": st.floats(0, 1e6),
    },
)
of_runs = {
    "queue": words,
    "priority": st.integers(-100, 100),
    "timeout": spans,
    "target": words,
    "tag": words,
    "user_id": st.integers(0, 99) | words,
    "persistent": flags,
    "auto_reschedule": spans,
    "remove_delay": spans,
    "expires": spans,
}
inputs = st.fixed_dictionaries({"to": words}, optional={"urgent": flags})
definitions = st.fixed_dictionaries(
    {"handler": st.just("send")},
    optional=of_runs
    | {
        "input": st.just({}) | inputs,
        "description": words,
        "enabled": flags,
        "retry": retries,
        "concurrency": st.integers(1, 9),
        "rate": st.just("7/m"),
        "rate_key": st.just("to"),
        "alert_url": st.just(URL),
        "ping_url": st.just(URL),
    },
).map(lambda made: made if "rate" in made else {word: made[word] for word in made if word != "rate_key"})
when = st.one_of(
    st.sampled_from([{"cron": "0 3 * * *"}, {"cron": "*/5 9-17 * * MON-FRI"}, {"at": "2100-01-01T03:00:00.5Z"}]),
    st.integers(1, 10**6).map(lambda every: {"every": every}),
    st.just({"every": 90.5, "anchor": "2026-01-01T00:00:01+02:00"}),
)
of_schedules = st.fixed_dictionaries(
    {"job": st.just("send"), "input": inputs},
    optional=of_runs
    | {
        "timezone": st.sampled_from(["UTC", "Europe/Paris", "Asia/Kolkata"]),
        "window": st.just(["00:30", "23:30"]),
        "outside": st.sampled_from(["defer", "skip"]),
        "overlap": st.sampled_from(["skip", "queue_one", "allow", "cancel_previous"]),
        "catch_up": st.sampled_from(["latest", "all", "none"]),
        "catch_up_cap": st.integers(1, 10_000),
        "jitter": spans,
        "retry": retries | retry_words,
        "description": words,
        "created_by": words,
        "enabled": flags,
        "alert_url": st.just(URL),
        "ping_url": st.just(URL),
    },
)
of_triggers = st.fixed_dictionaries(
    {"event_pattern": st.sampled_from(["posts.*", "posts.**"]), "processor_name": st.just("count")},
    optional=of_runs | {"description": words, "enabled": flags, "retry_config": retry_configs},
)
of_endpoints = st.fixed_dictionaries(
    {"url": st.sampled_from([URL, f"{URL}?token=t"]), "patterns": st.sampled_from([["posts.*"], ["a.b", "posts.**"]])},
    optional={
        "headers": st.just({"x-key": "hidden"}),
        "description": words,
        "retry_config": retry_configs,
        "rate": st.just("10/s"),
        "concurrency": st.integers(1, 9),
        "timeout": st.floats(0.1, 30),
    },
)
replacing = st.booleans()


def tagged(body: JSON, replace_tag: bool) -> JSON:
    """`replace_tag` needs a tag."""
    return body | {"replace_tag": replace_tag} if "tag" in body else body


def copied(shown: JSON) -> JSON:
    """What is sent to make another one like it: without what is its own, and with its URLs in full."""
    urls = {word: URL for word in ("alert_url", "ping_url") if shown.get(word)}
    return {word: value for word, value in shown.items() if word not in OWN} | urls


def like(shown: JSON, *but: str) -> JSON:
    return {word: value for word, value in shown.items() if word not in NEW | {*but}}


@many
@given(definitions, replacing)
def test_jobs(desk: Desk, body: JSON, replace_tag: bool) -> None:
    shown = desk.ask("PUT", "/jobs/one", tagged(body, replace_tag))
    desk.stays("/jobs/one", shown, "PUT", "PATCH")
    desk.ask("DELETE", "/jobs/one")
    desk.ask("PUT", "/jobs/two", copied(shown))
    assert like(desk.ask("GET", "/jobs/two"), "unserved") == like(shown, "unserved")


@many
@given(of_schedules, when, replacing)
def test_schedules(desk: Desk, body: JSON, at: JSON, replace_tag: bool) -> None:
    shown = desk.ask("PUT", "/schedules/one", tagged(body | at, replace_tag))
    version = desk.client.schedules.get("one").version
    desk.stays("/schedules/one", shown, "PUT", "PATCH")
    assert desk.client.schedules.get("one").version == version
    desk.ask("PUT", "/schedules/two", copied(shown))
    by_itself = ("next_run_at", "last_scheduled_at", "reason")
    assert like(desk.ask("GET", "/schedules/two"), *by_itself) == like(shown, *by_itself)
    for name in ("one", "two"):
        desk.ask("DELETE", f"/schedules/{name}")


@many
@given(of_triggers, replacing)
def test_triggers(desk: Desk, body: JSON, replace_tag: bool) -> None:
    shown = desk.ask("POST", "/triggers", {"name": "one", **tagged(body, replace_tag)})
    desk.stays(f"/triggers/{shown['id']}", shown, "PATCH")
    assert desk.client.triggers.get("one").version == 0
    made = desk.ask("POST", "/triggers", copied(shown) | {"name": "two"})
    assert like(desk.ask("GET", "/triggers/two")) == like(shown)
    desk.stays("/triggers/two", made, "PATCH")
    for name in ("one", "two"):
        desk.ask("DELETE", f"/triggers/{name}")


@many
@given(of_endpoints)
def test_endpoints(desk: Desk, body: JSON) -> None:
    made = desk.ask("POST", "/webhooks", body)
    path = f"/webhooks/{made['id']}"
    shown = desk.ask("GET", path)
    stored = desk.client.webhooks.get(made["id"])
    desk.stays(path, shown, "PATCH")
    assert desk.client.webhooks.get(made["id"]) == stored, "with its secrets, its headers and its version"
    copy = desk.ask("POST", "/webhooks", copied(shown) | ({"headers": body["headers"]} if "headers" in body else {}))
    assert copy["secret"] != made["secret"]
    again = desk.ask("GET", f"/webhooks/{copy['id']}")
    assert like(again, "secrets") == like(shown, "secrets")
    for endpoint in (made, copy):
        desk.ask("DELETE", f"/webhooks/{endpoint['id']}")


@pytest.mark.anyio
async def test_a_policy_that_the_words_cannot_say_stays(api: Api) -> None:
    """`retry_config` has no word for jitter and for errors; sent back as it was read, it does not take them away."""
    retry = Retry(attempts=4, delay=0.07, factor=3, cap=9, jitter=0.5, give_up_on=("x.Y",))
    api.a.triggers.add("one", pattern="posts.*", processor="count", retry=retry)
    endpoint = api.a.webhooks.add(URL, patterns=["posts.*"], retry=retry).endpoint
    for path in ("/triggers/one", f"/webhooks/{endpoint.id}"):
        shown = await api.operator.ask("GET", path)
        assert await api.operator.ask("PATCH", path, 200, shown) == shown
        await api.operator.ask("PATCH", path, 200, {"retry_config": shown["retry_config"]})
    assert api.a.triggers.get("one").retry == retry
    assert api.a.webhooks.get(endpoint.id).retry == retry
    await api.operator.ask("PATCH", "/triggers/one", 200, {"retry_config": {"max_attempts": 5}})
    assert api.a.triggers.get("one").retry == replace(retry, attempts=5)
    whole = shown["retry_config"] | {"max_attempts": 6}
    await api.operator.ask("PATCH", "/triggers/one", 200, {"retry_config": whole})
    assert api.a.triggers.get("one").retry == Retry(attempts=6, delay=0.07, factor=3, cap=9, jitter=0)


@pytest.mark.anyio
async def test_a_change_of_a_policy_changes_what_it_names(api: Api) -> None:
    ask = api.operator.ask
    retry = Retry(attempts=5, delay=7, factor=3, cap=90, jitter=0.5, give_up_on=("x.Y",))
    api.a.jobs.put("eu", handler="send", retry=retry)
    api.a.schedules.put("s", job="rest", every=60, retry=retry)
    for path in ("/jobs/eu", "/schedules/s"):
        shown = (await ask("GET", path))["retry"]
        assert (await ask("PATCH", path, 200, {"retry": {}}))["retry"] == shown
        assert (await ask("PATCH", path, 200, {"retry": {"delay": 9}}))["retry"] == shown | {"delay": 9}
        longer = await ask("PATCH", path, 200, {"retry": {"delay": 120}})
        assert longer["retry"] == shown | {"delay": 120, "cap": 120}
        await ask("PATCH", path, 200, {"retry": None})
        assert (await ask("PATCH", path, 200, {"retry": {"delay": 9}}))["retry"] == shown_policy(Retry(delay=9))
    await ask("PATCH", "/schedules/s", 200, {"retry": {"max_retries": 9}})
    changed = await ask("PATCH", "/schedules/s", 200, {"retry": {"backoff_ms": 500}})
    assert changed["retry"] == shown_policy(Retry(attempts=10, delay=0.5))
    words = {"max_retries": 9, "backoff_ms": 500, "backoff_type": "exponential"}
    assert (await ask("PATCH", "/schedules/s", 200, {"retry": words}))["retry_policy"] == words
    changed = await ask("PATCH", "/schedules/s", 200, {"retry": {"backoff_type": "fixed"}})
    assert changed["retry_policy"] == words | {"backoff_type": "fixed"}

    api.a.triggers.add("one", pattern="posts.*", processor="count", retry=retry)
    endpoint = api.a.webhooks.add(URL, patterns=["posts.*"], retry=retry).endpoint
    for path, stored in (
        ("/triggers/one", lambda: api.a.triggers.get("one").retry),
        (f"/webhooks/{endpoint.id}", lambda: api.a.webhooks.get(endpoint.id).retry),
    ):
        await ask("PATCH", path, 200, {"retry_config": {"initial_delay_ms": 9000}})
        assert stored() == replace(retry, delay=9.0)
        await ask("PATCH", path, 200, {"retry_config": {"initial_delay_ms": 120_000}})
        assert stored() == replace(retry, delay=120.0, cap=120.0)


def shown_policy(retry: Retry) -> JSON:
    found: JSON = decode(encode(RetryShown.of(retry)))
    return found


@pytest.mark.anyio
async def test_a_schedule_that_is_over_can_be_sent_back(api: Api) -> None:
    api.a.schedules.put("once", job="rest", at=api.bell.store.clock.now().replace(year=2100))
    shown = await api.operator.ask("GET", "/schedules/once")
    past = "2020-01-01T00:00:00Z"
    refused = await api.operator.ask("PATCH", "/schedules/once", 422, shown | {"expression": past})
    assert "is past" in refused["detail"]
    over = await api.operator.ask("PUT", "/schedules/once", 200, shown | {"expression": past})
    assert over["expression"] == past
    assert await api.operator.ask("PATCH", "/schedules/once", 200, over) == over
    assert await api.operator.ask("PUT", "/schedules/once", 200, over) == over


@pytest.mark.anyio
async def test_contradictions_are_refused(api: Api) -> None:
    """With a sentence, and before anything is written."""
    await api.operator.ask("PUT", "/jobs/one", 200, {"handler": "send"})
    policy = {"max_retries": 2, "backoff_ms": 500}
    await api.operator.ask("PUT", "/schedules/one", 200, {"job": "rest", "cron": "0 3 * * *", "retry": policy})
    await api.operator.ask("POST", "/triggers", 201, {"name": "one", "event_pattern": "a.b", "processor_name": "count"})
    endpoint = await api.operator.ask(
        "POST", "/webhooks", 201, {"url": URL, "patterns": ["a.b"], "headers": {"x-k": "v"}}
    )
    paths = ("/jobs/one", "/schedules/one", "/triggers/one", f"/webhooks/{endpoint['id']}")
    shown = {path: await api.operator.ask("GET", path) for path in paths}
    other = "0190a0b0-c0d0-7000-8000-000000000000"

    async def refused(method: str, path: str, body: JSON, where: str, *told: str) -> None:
        answer = await api.operator.ask(method, path, 422, body)
        assert answer["errors"][0]["where"] == where
        assert all(word in answer["detail"] for word in told), answer["detail"]

    for path in paths:
        for method in ("PATCH",) if path in paths[2:] else ("PATCH", "PUT"):
            await refused(method, path, shown[path] | {"id": other}, "body.id", "leave it out")
            await refused(method, path, shown[path] | {"tenant": "b"}, "body.tenant", '"a"')
            await refused(
                method, path, shown[path] | {"descripton": ""}, "body.descripton", "did you mean description?"
            )
    for path in paths[:2]:
        for method in ("PATCH", "PUT"):
            await refused(method, path, shown[path] | {"name": "two"}, "body.name", '"one"')
            await refused(method, path, shown[path] | {"paused": True}, "body.paused", "it is false", "POST …/pause")
        copy = {word: value for word, value in shown[path].items() if word != "id"}
        await refused("PUT", path.replace("one", "two"), copy, "body.name", "leave it out")
        await refused("PUT", path.replace("one", "two"), shown[path] | {"name": "two"}, "body.id", "leave it out")
        copy = {word: value for word, value in shown[path].items() if word not in OWN}
        await refused("PUT", path.replace("one", "two"), copy | {"source": "code"}, "body.source", '"api"')
    await refused("POST", "/triggers", shown[paths[2]] | {"name": "two"}, "body.id", "leave it out")
    await refused("POST", "/webhooks", shown[paths[3]], "body.id", "leave it out")
    await refused(
        "PATCH", paths[3], shown[paths[3]] | {"enabled": False}, "body.enabled", "it is true", "POST …/disable"
    )
    await refused("PATCH", paths[3], {"header_names": []}, "body.header_names", "headers")
    copy = {word: value for word, value in shown[paths[3]].items() if word != "id"}
    await refused("POST", "/webhooks", copy, "body.header_names", "headers")

    schedule = shown["/schedules/one"]
    for change, told in (
        ({"cron": "0 4 * * *"}, "cron"),
        ({"every": 60}, "every"),
        ({"anchor": "2026-01-01T00:00:00Z"}, "anchor"),
        ({"kind": "interval"}, "interval"),
        ({"kind": "once"}, "once"),
        ({"kind": None}, "kind"),
        ({"retry": {"attempts": 9}}, "retry_policy"),
        ({"retry": None}, "retry_policy"),
        ({"retry_policy": {"max_retries": 9, "backoff_ms": 1, "backoff_type": "fixed"}}, "retry_policy"),
    ):
        for method in ("PUT", "PATCH"):
            await refused(method, "/schedules/one", schedule | change, "body", told)
    await refused("PATCH", "/schedules/one", {"expression": "0 4 * * *"}, "body", "kind")
    for path in paths:
        assert await api.operator.ask("GET", path) == shown[path], "nothing has changed"


@pytest.mark.anyio
async def test_what_is_hidden_stays_and_is_not_copied(api: Api) -> None:
    """Who may only read is shown no query of a URL, and nobody a secret or the value of a header."""
    endpoint, secret = api.a.webhooks.add(f"{URL}?token=t", patterns=["a.b"], headers={"x-k": "v"})
    stored = api.a.webhooks.get(endpoint.id)
    shown = await api.reader.ask("GET", f"/webhooks/{endpoint.id}")
    assert shown["url"] == f"{URL}?…"
    assert secret not in str(shown)
    await api.operator.ask("PATCH", f"/webhooks/{endpoint.id}", 200, shown)
    assert api.a.webhooks.get(endpoint.id) == stored
    await api.operator.ask("PATCH", f"/webhooks/{endpoint.id}", 200, shown | {"headers": {"x-k": "w"}})
    assert api.a.webhooks.get(endpoint.id).url == stored.url
    copy = copied(shown) | {"headers": {"x-k": "v"}}
    refused = await api.operator.ask("POST", "/webhooks", 422, copy)
    assert "is how a URL is shown" in refused["detail"]
    refused = await api.operator.ask("PATCH", f"/webhooks/{endpoint.id}", 422, {"url": "https://example.com/?…"})
    assert "is how a URL is shown" in refused["detail"]
    for path, body in (("/jobs/one", {"handler": "send"}), ("/schedules/one", {"job": "rest", "every": 60})):
        shown = await api.operator.ask("PUT", path, 200, body | {"ping_url": URL})
        plain = {word: value for word, value in shown.items() if word not in OWN}
        refused = await api.operator.ask("PUT", path.replace("one", "two"), 422, plain)
        assert "is how a URL is shown" in refused["detail"]


@pytest.mark.anyio
async def test_what_was_read_and_edited_is_what_is_stored(api: Api) -> None:
    """The usual way of a change: read it, set one field, send it back."""
    await api.operator.ask("PUT", "/jobs/one", 200, {"handler": "send", "tag": "t", "alert_url": URL})
    await api.operator.ask("PUT", "/schedules/one", 200, {"job": "rest", "every": 60})
    job = await api.operator.ask("GET", "/jobs/one")
    changed = await api.operator.ask("PUT", "/jobs/one", 200, job | {"timeout": 9})
    assert (changed["timeout"], changed["tag"], changed["version"]) == (9, "t", 2)
    assert api.a.jobs.get("one").alert_url == URL
    schedule = await api.operator.ask("GET", "/schedules/one")
    changed = await api.operator.ask(
        "PUT", "/schedules/one", 200, schedule | {"kind": "cron", "expression": "0 4 * * *"}
    )
    assert (changed["kind"], changed["expression"]) == ("cron", "0 4 * * *")
    changed = await api.operator.ask(
        "PATCH", "/schedules/one", 200, {"kind": "interval", "expression": "5m from 2026-11-16T00:00:00Z"}
    )
    assert (changed["kind"], changed["in_words"]) == ("interval", "every 5 min from 2026-11-16 00:00 UTC")
    answer = await api.operator.ask("PUT", "/schedules/one", 422, schedule | {"expression": "5m since noon"})
    assert "5m since noon" in answer["detail"]


@pytest.mark.parametrize("name", ROUND_TRIPS)
def test_the_page_says_which_fields_are_read_only(name: str, page: JSON) -> None:
    operation = next(one for one in OPERATIONS if one.name == name)
    assert operation.body is not None
    body = page["components"]["schemas"][operation.body.__name__]["properties"]
    read_only = {word for word, field in body.items() if field.get("readOnly")}
    assert read_only == operation.read_only
    assert {"id", "tenant", "created_at"} <= read_only
    assert not read_only & {*operation.body.__struct_fields__}


@pytest.fixture(scope="module")
def page() -> JSON:
    return openapi()
