"""What a real receiver gets, judged by the library of Standard Webhooks (C8)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

import pytest
import standardwebhooks.webhooks as judge
from standardwebhooks import WebhookVerificationError

from tests.support.hooks import Hooks
from tests.support.inside.values import Settings
from tests.support.webhook_scene import HERE, Scene
from workbell import Workbell, __version__

pytestmark = pytest.mark.anyio

DATA = {"id": 7, "title": "Zoë's 🔔", "price": 0.1, "tags": ["a", None, True], "nested": {"html": "<b>&amp;</b>\n"}}


@pytest.fixture
def hooks() -> Iterator[Hooks]:
    with Hooks() as hooks:
        yield hooks


@pytest.fixture
def scene() -> Iterator[Scene]:
    with Scene() as scene:
        yield scene


async def test_what_arrives_is_an_event_whose_signature_is_right(store_url: str, hooks: Hooks) -> None:
    with Workbell(settings=Settings(url=store_url, webhook_allow=HERE, project="blog")) as bell:
        headers = {"X-Token": "t0ken", "accept": "application/json"}
        endpoint, secret = await bell.webhooks.aadd(hooks.url("/hook?a=b"), patterns=["posts.*"], headers=headers)
        other = await bell.webhooks.aadd(hooks.url("/other"), patterns="users.**")
        async with bell.running():
            event = await bell.aemit("posts.created", DATA, subject="posts/7")
            await bell.aemit("users.a.b", {"id": 8})
            posts = (await hooks.await_for(1, "/hook?a=b"))[0]
            users = (await hooks.await_for(1, "/other"))[0]
            (delivery,) = await bell.webhooks.adeliveries(endpoint.id)
            ended = await bell.await_(delivery.id, timeout=30)
        assert posts.verified_by(secret) == posts.event
        assert users.verified_by(other.secret)["data"] == {"id": 8}
        assert posts.event == {
            "specversion": "1.0",
            "id": event.id,
            "source": "/blog",
            "type": "posts.created",
            "time": event.time.isoformat().replace("+00:00", "Z"),
            "timestamp": event.time.isoformat().replace("+00:00", "Z"),
            "datacontenttype": "application/json",
            "subject": "posts/7",
            "data": DATA,
        }
        sent = posts.headers
        assert (sent["webhook-id"], sent["x-token"], sent["accept"]) == (event.id, "t0ken", "application/json")
        assert (sent["content-type"], sent["user-agent"]) == ("application/json", f"Workbell/{__version__}")
        assert len(sent["webhook-signature"].split(" ")) == 1
        for wrong in (
            lambda: posts.verified_by(other.secret),
            lambda: posts._replace(body=posts.body.replace(b"7", b"8")).verified_by(secret),
            lambda: posts._replace(headers=sent | {"webhook-id": other.endpoint.id}).verified_by(secret),
        ):
            with pytest.raises(WebhookVerificationError, match="No matching signature"):
                wrong()
        assert (ended.status, ended.attempt, ended.result["status_code"]) == ("succeeded", 1, 200)
        assert len(hooks.arrived) == 2


async def test_a_secret_is_replaced_without_a_gap(sql_store_url: str, hooks: Hooks) -> None:
    """All are valid that were told to be; and with no overlap the new one alone."""
    with Workbell(settings=Settings(url=sql_store_url, webhook_allow=HERE)) as bell:
        endpoint, first = await bell.webhooks.aadd(hooks.url(), patterns="posts.*")
        async with bell.running():

            async def told() -> Any:
                before = len(hooks.arrived)
                await bell.aemit("posts.created", {})
                return (await hooks.await_for(before + 1))[before]

            _, second = await bell.webhooks.arotate(endpoint.id)
            both = await told()
            assert both.verified_by(first) == both.verified_by(second)
            _, third = await bell.webhooks.arotate(endpoint.id)
            assert_valid(await told(), [first, second, third], [])
            _, fourth = await bell.webhooks.arotate(endpoint.id, overlap=0)
            assert_valid(await told(), [fourth], [first, second, third])
    assert len({first, second, third, fourth}) == 4


def test_the_old_secret_ends_when_the_overlap_is_over(scene: Scene, hooks: Hooks) -> None:
    endpoint, old = scene.webhooks.add(hooks.url(), patterns="posts.*")
    chosen = "whsec_" + "QUJD" * 10
    told = scene.webhooks.rotate(endpoint.id, secret=chosen, overlap=timedelta(seconds=60))
    assert told.secret == chosen
    scene.clock.advance(59)
    scene.send()
    scene.clock.advance(1)
    scene.send()
    during, after = hooks.arrived
    assert_valid(during, [old, chosen], [])
    assert_valid(after, [chosen], [old])


def test_a_retry_is_the_same_message_signed_anew(scene: Scene, hooks: Hooks) -> None:
    _, secret = scene.webhooks.add(hooks.url(), patterns="posts.*")
    hooks.answer_once(500, 503)
    scene.send()
    scene.clock.advance(10)
    scene.work()
    scene.clock.advance(60)
    scene.work()
    first, second, third = hooks.arrived
    assert first.id == second.id == third.id
    assert first.body == second.body == third.body
    (delivery,) = {one.headers["webhook-delivery-id"] for one in hooks.arrived}
    assert scene.bell.get(delivery).job == "webhook-delivery"
    assert [one.headers["webhook-delivery-attempt"] for one in hooks.arrived] == ["1", "2", "3"]
    times = [int(one.headers["webhook-timestamp"]) for one in hooks.arrived]
    assert [time - times[0] for time in times] == [0, 10, 70]
    assert len({one.headers["webhook-signature"] for one in hooks.arrived}) == 3
    for one in hooks.arrived:
        assert one.verified_by(secret)["data"] == {"id": 7}


def test_what_somebody_sends_again_later_is_refused(
    scene: Scene, hooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The very request, as one who has listened in would send it, more than five minutes later."""
    _, secret = scene.webhooks.add(hooks.url(), patterns="posts.*")
    scene.send()
    (arrived,) = hooks.arrived
    for seconds, accepted in ((0, True), (300, True), (301, False)):

        class Later(datetime):
            @classmethod
            def now(cls, tz: tzinfo | None = None, after: int = seconds) -> datetime:
                return scene.clock.now() + timedelta(seconds=after)

        monkeypatch.setattr(judge, "datetime", Later)
        if accepted:
            assert arrived.verified_by(secret)["type"] == "posts.created"
        else:
            with pytest.raises(WebhookVerificationError, match="too old"):
                arrived.verified_by(secret)
    # What Workbell itself sends again is signed at that time, and accepted.
    monkeypatch.undo()
    assert datetime.now(UTC) - scene.clock.now() < timedelta(minutes=5)
    scene.webhooks.replay(scene.webhooks.list()[0].id, event=arrived.id)
    scene.clock.advance(3)
    scene.work()
    again = hooks.arrived[1]
    assert (again.id, again.body) == (arrived.id, arrived.body)
    assert again.headers["webhook-timestamp"] != arrived.headers["webhook-timestamp"]
    assert again.verified_by(secret) == arrived.event


def assert_valid(arrived: Any, right: list[str], wrong: list[str]) -> None:
    for secret in right:
        assert arrived.verified_by(secret)["type"] == "posts.created"
    for secret in wrong:
        with pytest.raises(WebhookVerificationError, match="No matching signature"):
            arrived.verified_by(secret)
