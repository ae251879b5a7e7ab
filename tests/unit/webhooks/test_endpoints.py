"""Endpoints: made, changed, looked at and removed; what cannot be used is refused in words, and nothing is stored."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from rich.pretty import pretty_repr

from tests.support.webhook_scene import URL, Pretended, Scene
from workbell import JobsError, Retry, WorkbellError
from workbell.errors import EndpointNotFound, EndpointRefused, InvalidEvent, InvalidOption, RunNotFound, SettingsError
from workbell.handlers.resources import Resources
from workbell.model.endpoint import Health
from workbell.model.ids import new_id
from workbell.model.trigger import RetryConfig
from workbell.trust.sealing import Sealer, new_key
from workbell.webhooks.describe import is_sealed

SECRET = "whsec_" + "QUJD" * 10
HEADERS = {"Authorization": "Bearer hush-hush"}


@pytest.fixture
def scene() -> Iterator[Scene]:
    with Scene() as scene:
        yield scene


@pytest.fixture
def sender(scene: Scene) -> Pretended:
    return scene.pretend()


def test_what_is_left_open_has_a_default(scene: Scene) -> None:
    made = scene.webhooks.add(URL, patterns=["posts.*", "users.created", "posts.*"])
    endpoint, secret = made
    now = scene.clock.now()
    assert scene.webhooks.get(endpoint.id) == endpoint
    assert secret.startswith("whsec_")
    assert scene.webhooks.describe(endpoint.id) == {
        "id": endpoint.id,
        "url": URL,
        "description": "",
        "patterns": ["posts.*", "users.created"],
        "header_names": [],
        "secrets": [{"created_at": now, "valid_until": None}],
        "sealed": False,
        "enabled": True,
        "disabled_reason": None,
        "disabled_at": None,
        "retry_config": None,
        "rate": None,
        "concurrency": None,
        "timeout": None,
        "failures_in_a_row": 0,
        "failing_since": None,
        "last_success_at": None,
        "last_failure_at": None,
        "slowed": None,
        "tenant": "default",
        "created_at": now,
        "updated_at": now,
        "unreadable": None,
    }


def test_everything_can_be_said_and_changed(scene: Scene) -> None:
    endpoint, secret = scene.webhooks.add(
        URL,
        secret=SECRET,
        patterns="posts.*",
        headers=HEADERS,
        description="The shop",
        retry=Retry(3, delay=2),
        rate="10/s",
        concurrency=2,
        timeout=3,
    )
    assert secret == SECRET
    told = scene.webhooks.describe(endpoint.id)
    assert (told["description"], told["rate"], told["concurrency"], told["timeout"]) == ("The shop", "10/s", 2, 3)
    assert told["header_names"] == ["authorization"]
    assert told["retry_config"]["max_attempts"] == 3
    later = scene.clock.advance(60)
    assert scene.webhooks.update(endpoint.id, url=URL + "/new").url == URL + "/new"
    found = scene.webhooks.update(endpoint.id, headers=None, rate=None, timeout=None, retry=None, patterns=["a.**"])
    assert found == scene.webhooks.get(endpoint.id)
    assert (found.headers_text, found.rate, found.timeout, found.retry) == (None, None, None, None)
    assert (found.patterns, found.concurrency, found.description) == (("a.**",), 2, "The shop")
    assert (found.secrets, found.updated_at, found.created_at) == (endpoint.secrets, later, endpoint.created_at)


@pytest.mark.parametrize(
    ("given", "policy"),
    [
        ({}, Retry(attempts=10, delay=5, factor=6, cap=86400, jitter=0)),
        ({"initial_delay_ms": 7000}, Retry(attempts=10, delay=7, factor=6, cap=86400, jitter=0)),
        ({"max_attempts": 4}, Retry(attempts=4, delay=5, factor=6, cap=86400, jitter=0)),
        ({"max_delay_ms": 2000}, Retry(attempts=10, delay=5, factor=6, cap=2, jitter=0)),
        ({"initial_delay_ms": 200_000_000}, Retry(attempts=10, delay=200_000, factor=6, cap=200_000, jitter=0)),
    ],
)
def test_what_a_policy_leaves_out_is_as_for_deliveries(scene: Scene, given: RetryConfig, policy: Retry) -> None:
    """Ten attempts over three and a half days, without jitter, and no cap below the delay."""
    endpoint, _ = scene.webhooks.add(URL, patterns="posts.*", retry=given)
    assert endpoint.retry == policy
    assert scene.webhooks.update(endpoint.id, retry=given).retry == policy


def test_changes_reach_what_is_sent(scene: Scene, sender: Pretended) -> None:
    endpoint, _ = scene.webhooks.add(URL, patterns="posts.*", headers=HEADERS, timeout=3)
    scene.send()
    assert (sender.timeout, sender.sent[0][0]) == (3, URL)
    assert sender.sent[0][1]["authorization"] == "Bearer hush-hush"
    scene.webhooks.update(endpoint.id, url=URL + "/new", headers={"x-a": "b"}, timeout=None, patterns="users.*")
    scene.send()
    scene.send("users.created")
    ((url, headers),) = sender.sent[1:]
    assert (sender.timeout, url, headers["x-a"], "authorization" in headers) == (15, URL + "/new", "b", False)


def test_a_deleted_endpoint_gets_nothing_more(scene: Scene, sender: Pretended) -> None:
    endpoint, _ = scene.webhooks.add(URL, patterns="posts.*", retry=Retry(5, delay=60))
    sender.status = 500
    scene.send()
    (delivery,) = scene.webhooks.deliveries(endpoint.id)
    scene.webhooks.delete(endpoint.id)
    scene.clock.advance(3600)
    scene.send()
    run = scene.bell.get(delivery.id)
    assert (run.status, run.reason) == ("canceled", "its endpoint was deleted")
    assert len(sender.sent) == 1
    assert len(scene.webhooks.attempts(delivery.id)) == 2
    assert scene.store.subscribers.find_health(endpoint.id) == Health(endpoint.id)
    assert scene.webhooks.list() == []


BAD: list[tuple[dict[str, Any], type[WorkbellError], str]] = [
    ({"url": "http://hooks.example.net:1/"}, EndpointRefused, "not encrypted"),
    ({"url": "https://10.0.0.1/"}, EndpointRefused, "not public"),
    ({"url": "https://169.254.169.254/latest"}, EndpointRefused, "not public"),
    ({"url": "ftp://hooks.example.com/"}, EndpointRefused, "https"),
    ({"url": "nonsense"}, EndpointRefused, ""),
    ({"url": ""}, EndpointRefused, ""),
    ({"url": None}, InvalidOption, "url: expected a text"),
    ({"url": 5}, InvalidOption, "url: expected a text"),
    ({"url": "https://user:pass@hooks.example.com/"}, EndpointRefused, ""),
    ({"patterns": []}, InvalidOption, "needs a pattern"),
    ({"patterns": ""}, InvalidEvent, "pattern"),
    ({"patterns": ["posts.*", "posts.**.x"]}, InvalidEvent, "pattern"),
    ({"patterns": ["a b"]}, InvalidEvent, "pattern"),
    ({"patterns": ["x" * 257]}, InvalidEvent, "pattern"),
    ({"patterns": [5]}, InvalidEvent, "pattern"),
    ({"patterns": None}, InvalidOption, "patterns"),
    ({"patterns": 5}, InvalidOption, "patterns"),
    ({"patterns": [f"posts.n{number}" for number in range(101)]}, InvalidOption, "101 are more than 100"),
    ({"headers": {"webhook-id": "1"}}, InvalidOption, "set by Workbell itself"),
    ({"headers": {"Webhook-Anything": "1"}}, InvalidOption, "set by Workbell itself"),
    ({"headers": {"Content-Type": "text/plain"}}, InvalidOption, "set by Workbell itself"),
    ({"headers": {"User-Agent": "me"}}, InvalidOption, "set by Workbell itself"),
    ({"headers": {"Host": "other"}}, InvalidOption, "set by Workbell itself"),
    ({"headers": {"Content-Length": "0"}}, InvalidOption, "set by Workbell itself"),
    ({"headers": {"X Y": "hush-hush"}}, InvalidOption, "not a header's name"),
    ({"headers": {"X-Token": "hush-hush\r\nHost: other"}}, InvalidOption, "on one line"),
    ({"headers": {"X-Token": "hush-hush é"}}, InvalidOption, "ASCII"),
    ({"headers": {"X-Token": 5}}, InvalidOption, "must be a text"),
    ({"headers": {"X-A": "1", "x-a": "2"}}, InvalidOption, "given twice"),
    ({"headers": {f"x-{number}": "" for number in range(51)}}, InvalidOption, "more than 50"),
    ({"headers": "x-token: hush-hush"}, InvalidOption, "headers"),
    ({"headers": [("x-token", "hush-hush")]}, InvalidOption, "headers"),
    ({"secret": "hush-hush"}, InvalidOption, "whsec_"),
    ({"secret": "whsec_hush-hush"}, InvalidOption, "whsec_"),
    ({"secret": "whsec_aHVzaA=="}, InvalidOption, "24 to 64"),
    ({"secret": b"hush-hush"}, InvalidOption, "whsec_"),
    ({"timeout": 31}, InvalidOption, "timeout: 31 is not from 0.1 to 30 seconds"),
    ({"timeout": 0}, InvalidOption, "timeout"),
    ({"timeout": -1}, InvalidOption, "timeout"),
    ({"timeout": float("nan")}, InvalidOption, "timeout"),
    ({"timeout": "15"}, InvalidOption, "timeout"),
    ({"timeout": True}, InvalidOption, "timeout"),
    ({"rate": "often"}, InvalidOption, "rate"),
    ({"rate": "0/s"}, InvalidOption, "rate"),
    ({"rate": 5}, InvalidOption, "rate"),
    ({"concurrency": 0}, InvalidOption, "concurrency: 0 is not"),
    ({"concurrency": 1.5}, InvalidOption, "concurrency"),
    ({"concurrency": True}, InvalidOption, "concurrency"),
    ({"retry": 3}, InvalidOption, "retry"),
    ({"retry": {"attempts": 3}}, InvalidOption, "there is no 'attempts'"),
    ({"retry": {"max_attempts": 0}}, InvalidOption, "attempts"),
    ({"description": 5}, InvalidOption, "description"),
    ({"speed": 5}, InvalidOption, "Unknown setting 'speed' of an endpoint; the settings are concurrency, description"),
]


@pytest.mark.parametrize(("wrong", "kind", "words"), BAD)
def test_what_cannot_be_used_is_refused(
    scene: Scene, wrong: dict[str, Any], kind: type[WorkbellError], words: str
) -> None:
    """In words, without what may be secret, and with nothing stored or changed."""
    scene.bell.registry.resources = Resources()  # nothing is allowed that is not public
    known, _ = scene.webhooks.add(URL, patterns="posts.*")
    version = scene.store.subscribers.version()
    given = {"patterns": "posts.*", **wrong}
    with pytest.raises(kind) as raised:
        scene.webhooks.add(given.pop("url", URL), **given)
    assert words in str(raised.value)
    assert "hush" not in str(raised.value)
    assert len(str(raised.value)) < 400
    if set(wrong) - {"secret"} and wrong.get("url", "") is not None:
        with pytest.raises(kind):
            scene.webhooks.update(known.id, **wrong)
    elif "secret" in wrong:
        with pytest.raises(kind):
            scene.webhooks.rotate(known.id, secret=wrong["secret"])
    assert scene.webhooks.list() == [known]
    assert scene.store.subscribers.version() == version


def test_an_endpoint_must_say_what_it_hears(scene: Scene) -> None:
    with pytest.raises(InvalidEvent, match="pattern"):
        scene.webhooks.add(URL)
    assert scene.webhooks.list() == []


@pytest.mark.parametrize("overlap", [-1, float("nan"), "a day", timedelta(days=-1)])
def test_an_overlap_that_is_no_span_of_time(scene: Scene, overlap: Any) -> None:
    endpoint, _ = scene.webhooks.add(URL, patterns="posts.*")
    with pytest.raises(InvalidOption, match="overlap"):
        scene.webhooks.rotate(endpoint.id, overlap=overlap)
    assert scene.webhooks.get(endpoint.id) == endpoint


def test_a_list_of_deliveries_is_asked_for_properly(scene: Scene, sender: Pretended) -> None:
    endpoint, _ = scene.webhooks.add(URL, patterns="posts.*")
    events = [scene.send() for _ in range(5)]
    listed = scene.webhooks.deliveries
    assert [one.event for one in listed(endpoint.id)] == events[::-1]
    page = listed(endpoint.id, limit=2)
    assert [one.event for one in listed(endpoint.id, limit=2, before=page[-1].id)] == events[1:3][::-1]
    assert listed(endpoint.id, status="failed") == []
    for limit in (0, 1001, -1):
        with pytest.raises(InvalidOption, match="limit"):
            listed(endpoint.id, limit=limit)
    with pytest.raises(InvalidOption, match="status: 'done' is none of scheduled"):
        listed(endpoint.id, status="done")


def test_tenants_do_not_see_each_other(scene: Scene, sender: Pretended) -> None:
    other = scene.bell.for_tenant("other")
    mine, _ = scene.webhooks.add(URL, patterns="*")
    theirs, _ = other.webhooks.add(URL + "/theirs", patterns="*")
    scene.send()
    event = other.emit("posts.created", {}).id
    scene.work()
    assert [(url, headers["webhook-id"] == event) for url, headers in sender.sent] == [
        (URL, False),
        (URL + "/theirs", True),
    ]
    (delivery,) = other.webhooks.deliveries(theirs.id)
    webhooks = scene.webhooks
    assert (webhooks.list(), other.webhooks.list()) == ([mine], [theirs])
    for call in (
        webhooks.get,
        webhooks.delete,
        webhooks.enable,
        webhooks.disable,
        webhooks.rotate,
        webhooks.update,
        webhooks.describe,
        webhooks.health,
        webhooks.deliveries,
        webhooks.test,
        lambda endpoint: webhooks.replay(endpoint, event=event),
    ):
        for unknown in (theirs.id, new_id(), "nonsense"):
            with pytest.raises(EndpointNotFound, match=f"There is no webhook endpoint '{unknown}' of tenant default"):
                call(unknown)
    with pytest.raises(RunNotFound):
        webhooks.attempts(delivery.id)
    assert other.webhooks.get(theirs.id) == theirs


def test_secrets_are_never_shown(scene: Scene, sender: Pretended, caplog: pytest.LogCaptureFixture) -> None:
    """Neither by what is returned, nor by what is stored beside it, logged, or told."""
    caplog.set_level(logging.DEBUG)
    made = scene.webhooks.add(URL + "?token=hush-hush", secret=SECRET, patterns="posts.*", headers=HEADERS)
    endpoint = made.endpoint
    scene.webhooks.add(URL + "/ear", patterns="webhook.*")
    sender.by_url[endpoint.url] = 500
    scene.send()
    sender.by_url[endpoint.url] = 0
    scene.send()
    new = scene.webhooks.rotate(endpoint.id, secret=SECRET[:-8] + "REVGREVG")
    sender.by_url[endpoint.url] = 410
    scene.send()
    assert not scene.webhooks.get(endpoint.id).enabled
    with pytest.raises(InvalidOption) as refused:
        scene.webhooks.test(endpoint.id)
    delivery = scene.last(endpoint)
    told = scene.store.events.list("default", type="webhook.disabled", before=None, limit=9)
    assert len(told) == 1
    shown = [
        repr(made),
        str(made),
        repr(new),
        repr(endpoint),
        f"{endpoint}",
        repr(endpoint.secrets),
        pretty_repr([made, new, endpoint]),
        repr(scene.webhooks.list()),
        repr(scene.webhooks.describe(endpoint.id) | {"url": ""}),
        repr(scene.bell.settings),
        repr(scene.webhooks.deliveries(endpoint.id)),
        repr(scene.webhooks.attempts(delivery.id)),
        repr(scene.bell.get(delivery.id)),
        str(refused.value),
        repr([event.data for event in told]),
        caplog.text,
    ]
    for text in shown:
        for secret in ("QUJDQUJD", "hush"):
            assert secret not in text
    assert "is disabled" in caplog.text


def test_whoever_has_another_key_still_sees_the_rest() -> None:
    with Scene(secret_key=new_key()) as scene:
        endpoint, _ = scene.webhooks.add(URL, patterns="posts.*", headers=HEADERS)
        told = scene.webhooks.describe(endpoint.id)
        assert (told["sealed"], told["header_names"]) == (True, ["authorization"])
        for key in (None, new_key()):
            scene.bell.registry.resources = scene.bell.registry.resources._replace(secret_key=key)
            told = scene.webhooks.describe(endpoint.id)
            shown = "https://hooks.example.com/…"
            assert (told["sealed"], told["header_names"], told["url"]) == (True, None, shown)


@pytest.mark.parametrize("part", ["url", "headers_text", "secrets"])
def test_one_part_in_clear_text_is_enough_to_be_unsealed(part: str) -> None:
    """Such as a secret from before the key, which is still valid beside the new one."""
    with Scene(secret_key=new_key()) as scene, Scene() as plain:
        made = [one.webhooks.add(URL, patterns="posts.*", headers=HEADERS).endpoint.id for one in (scene, plain)]
        sealed, clear = (
            one.store.subscribers.find_endpoint(name) for one, name in zip((scene, plain), made, strict=True)
        )
        assert sealed is not None
        assert clear is not None
        assert (is_sealed(sealed), is_sealed(clear)) == (True, False)
        beside = (*sealed.secrets, *clear.secrets) if part == "secrets" else getattr(clear, part)
        assert not is_sealed(msgspec.structs.replace(sealed, **{part: beside}))


def test_a_key_that_is_none_is_refused_at_once() -> None:
    """Not by the first delivery, which would spend its attempts on it."""
    with pytest.raises(SettingsError, match="new-key"):
        Scene(secret_key="guess me")


def test_what_was_stored_before_there_was_a_key_is_sealed(scene: Scene, sender: Pretended) -> None:
    endpoint, secret = scene.webhooks.add(URL, patterns="posts.*", headers=HEADERS)
    assert not scene.webhooks.describe(endpoint.id)["sealed"]
    with pytest.raises(SettingsError, match="There is no key to seal with"):
        scene.webhooks.seal()
    old, new = new_key(), new_key()
    for keys in (old, f"{new},{old}", new):
        scene.bell.registry.resources = scene.bell.registry.resources._replace(secret_key=keys)
        assert scene.webhooks.seal() == 1
        assert scene.webhooks.describe(endpoint.id)["sealed"]
    stored = scene.webhooks.get(endpoint.id)
    assert Sealer([new]).open(stored.secrets[0].text) == secret
    assert "hush" in Sealer([new]).open(stored.headers_text or "")


def test_the_name_of_the_built_in_job_is_taken(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbell.webhooks.delivery.find_spec", lambda _: None)
    with Scene() as other, pytest.raises(JobsError, match="choose another"):
        other.bell.job(name="webhook-delivery")(lambda: None)
