"""How many deliveries an endpoint gets at once and in a span of time, and how soon a change of that counts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.webhook_scene import ONCE, URL, Scene
from workbell.events.fan_out import delivery_lane
from workbell.model.endpoint import Endpoint
from workbell.model.limit import Limit
from workbell.model.rate import Rate
from workbell.webhooks.delivery import delivery_job
from workbell.webhooks.limits import AT_ONCE, FAILING_AFTER, FRESH


@pytest.fixture
def scene() -> Iterator[Scene]:
    with Scene() as scene:
        yield scene


def limit_of(scene: Scene, endpoint: Endpoint) -> Limit:
    job = scene.bell.registry.find("webhook-delivery")
    assert job is not None
    (found,) = job.limits_of(delivery_lane(endpoint))
    return found


def test_each_endpoint_is_counted_for_itself(scene: Scene) -> None:
    assert AT_ONCE == 5
    plain, _ = scene.webhooks.add(URL, patterns="posts.*")
    own, _ = scene.webhooks.add(URL, patterns="posts.*", concurrency=2, rate="3/m")
    paced, _ = scene.webhooks.add(URL, patterns="posts.*", rate="7/s")
    assert limit_of(scene, plain)[:6] == ("default", "webhook-delivery", True, plain.id, AT_ONCE, None)
    assert limit_of(scene, own)[2:6] == (True, own.id, 2, Rate.parse("3/m"))
    assert limit_of(scene, paced)[2:6] == (True, paced.id, AT_ONCE, Rate.parse("7/s"))
    assert len({limit_of(scene, one).id for one in (plain, own, paced)}) == 3


def test_a_change_counts_within_a_second(scene: Scene) -> None:
    endpoint, _ = scene.webhooks.add(URL, patterns="posts.*")
    assert limit_of(scene, endpoint).concurrency == AT_ONCE
    scene.webhooks.update(endpoint.id, concurrency=1, rate="1/h")
    scene.clock.advance(FRESH + 0.001)
    assert (limit_of(scene, endpoint).concurrency, limit_of(scene, endpoint).rate) == (1, Rate.parse("1/h"))
    scene.webhooks.update(endpoint.id, concurrency=None, rate=None)
    scene.clock.advance(FRESH + 0.001)
    assert (limit_of(scene, endpoint).concurrency, limit_of(scene, endpoint).rate) == (AT_ONCE, None)


def test_what_is_left_of_a_deleted_endpoint_has_the_default(scene: Scene) -> None:
    endpoint, _ = scene.webhooks.add(URL, patterns="posts.*", concurrency=1)
    scene.webhooks.delete(endpoint.id)
    assert limit_of(scene, endpoint).concurrency == AT_ONCE


def test_where_nothing_can_be_sent_there_is_no_such_job(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr("workbell.webhooks.delivery.find_spec", asked.append)
    assert delivery_job(scene.bell.runtime) is None
    assert asked == ["httpx2"]


def test_one_that_keeps_failing_is_only_probed(scene: Scene) -> None:
    """So that silent endpoints, however many, leave places for the rest; and the others' attempts are not spent."""
    sender = scene.pretend()
    sender.status = 500
    dead, _ = scene.webhooks.add(URL, patterns="posts.*", retry=ONCE, concurrency=3)
    for _ in range(FAILING_AFTER):
        scene.send()
    assert len(sender.sent) == FAILING_AFTER
    scene.clock.advance(FRESH + 0.001)
    assert (limit_of(scene, dead).concurrency, limit_of(scene, dead).rate) == (1, Rate(1, 60))
    for _ in range(3):
        scene.send()
    assert len(sender.sent) == FAILING_AFTER + 1, "one of three"
    sender.status = 200
    scene.clock.advance(61)
    scene.work()
    assert len(sender.sent) == FAILING_AFTER + 2, "again one"
    scene.clock.advance(FRESH + 0.001)
    assert limit_of(scene, dead).concurrency == 3
    scene.work()
    assert len(sender.sent) == FAILING_AFTER + 3, "it answers: all are sent"


def test_what_waits_for_a_failing_one_is_canceled_at_once_when_it_is_disabled(scene: Scene) -> None:
    sender = scene.pretend()
    sender.status = 500
    dead, _ = scene.webhooks.add(URL, patterns="posts.*", retry=ONCE)
    for _ in range(FAILING_AFTER):
        scene.send()
    scene.clock.advance(FRESH + 0.001)
    for _ in range(4):
        scene.send()
    scene.webhooks.disable(dead.id)
    scene.clock.advance(FRESH + 0.001)
    scene.work()
    statuses = [delivery.status for delivery in scene.webhooks.deliveries(dead.id, limit=4)]
    assert statuses.count("canceled") == 3
    assert statuses.count("failed") == 1
