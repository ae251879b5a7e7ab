"""How many deliveries an endpoint gets at once and in a span of time, and how soon a change of that counts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.webhook_scene import URL, Scene
from workbell.events.fan_out import delivery_lane
from workbell.model.endpoint import Endpoint
from workbell.model.limit import Limit
from workbell.model.rate import Rate
from workbell.webhooks.delivery import delivery_job
from workbell.webhooks.limits import AT_ONCE, FRESH


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
    assert delivery_job(scene.bell) is None
    assert asked == ["httpx2"]
