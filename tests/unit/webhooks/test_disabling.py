"""An endpoint that fails for days is switched off, not sooner, and this is told once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import msgspec
import pytest

from tests.support.webhook_scene import ONCE, URL, Pretended, Scene
from tests.unit.makers import NOW
from workbell import Workbell
from workbell.model.endpoint import Endpoint, Health
from workbell.model.event import Event
from workbell.model.system_events import WEBHOOK_DISABLED
from workbell.testing import drain
from workbell.webhooks.changing import EndpointUpdate, change
from workbell.webhooks.delivery import delivery_job
from workbell.webhooks.disabling import FEWEST_FAILURES, disable, is_given_up

DAYS = timedelta(days=5)


@pytest.fixture
def scene() -> Iterator[Scene]:
    with Scene() as scene:
        yield scene


def told(scene: Scene) -> list[Event]:
    return scene.store.events.list("default", type=WEBHOOK_DISABLED, before=None, limit=9)


@pytest.mark.parametrize(
    ("failures", "failing_for", "given_up"),
    [
        (FEWEST_FAILURES, DAYS, True),
        (100_000, DAYS * 3, True),
        (FEWEST_FAILURES - 1, DAYS * 100, False),
        (100_000, DAYS - timedelta(seconds=1), False),
    ],
)
def test_it_takes_both_a_long_time_and_many_failures(failures: int, failing_for: timedelta, given_up: bool) -> None:
    assert is_given_up(Health("e", failures, NOW - failing_for), NOW, DAYS) is given_up


def test_one_that_does_not_fail_is_not_given_up() -> None:
    assert not is_given_up(Health("e", last_success_at=NOW - DAYS * 9), NOW, DAYS)


def test_days_of_failures_switch_it_off(scene: Scene) -> None:
    sender = scene.pretend()
    bad, _ = scene.webhooks.add(URL, patterns="posts.*", retry=ONCE)
    good, _ = scene.webhooks.add(URL + "/good", patterns="posts.*")
    ear, _ = scene.webhooks.add(URL + "/ear", patterns="webhook.disabled")
    sender.by_url[URL] = 500
    since = scene.clock.now()
    for _ in range(14):  # every nine hours: five days less three hours
        scene.send()
        scene.clock.advance(hours=9)
        assert scene.webhooks.get(bad.id).enabled
    health = scene.webhooks.health(bad.id)
    assert (health.failures, health.failing_since, health.last_success_at) == (14, since, None)
    assert told(scene) == []
    waiting = [scene.emit() for _ in range(3)]
    scene.work()
    found = scene.webhooks.get(bad.id)
    assert not found.enabled
    assert found.reason == f"15 attempts in a row have failed since {since:%Y-%m-%d %H:%M} UTC"
    assert found.disabled_at == scene.clock.now()
    assert [one.status for one in scene.webhooks.deliveries(bad.id)[:3]] == ["canceled", "canceled", "failed"]
    assert {one.event for one in scene.webhooks.deliveries(bad.id)[:3]} == set(waiting)
    (event,) = told(scene)
    assert event.data == {"endpoint": bad.id, "url": URL, "reason": found.reason}
    assert [one.event for one in scene.webhooks.deliveries(ear.id)] == [event.id]
    assert scene.webhooks.get(good.id).enabled
    scene.send()
    assert len(told(scene)) == 1
    assert sum(url == URL for url, _ in sender.sent) == 15


def test_a_success_ends_the_row(scene: Scene) -> None:
    sender = scene.pretend()
    endpoint, _ = scene.webhooks.add(URL, patterns="posts.*", retry=ONCE)
    for sender.status in (200, 500, 200):  # of successes in the same minute, the first one after a failure is noted
        scene.send()
    assert scene.webhooks.health(endpoint.id).failures == 0
    sender.status = 0  # nobody answers
    for _ in range(20):
        scene.clock.advance(hours=6)
        scene.send()
    assert scene.webhooks.health(endpoint.id).failures == 20
    sender.status, failed_at = 200, scene.clock.now()
    scene.clock.advance(minutes=2)  # one that keeps failing is not tried every moment
    scene.send()
    assert scene.webhooks.health(endpoint.id) == Health(
        endpoint.id, 0, None, scene.clock.now(), last_failure_at=failed_at
    )
    sender.status = 500
    for _ in range(20):
        scene.send()
    scene.clock.advance(days=4)
    scene.send()
    assert scene.webhooks.get(endpoint.id).enabled


def test_a_success_ends_the_row_that_another_process_began(scene: Scene) -> None:
    here = scene.pretend()
    endpoint, _ = scene.webhooks.add(URL, patterns="posts.*")
    scene.send()  # noted here; another success in the same minute is not
    with Workbell(store=scene.store, settings=scene.bell.settings) as other:
        there = Pretended()
        there.status = 500
        other.registry.add_built_in(delivery_job(other.runtime, there.made))
        scene.emit()
        drain(other)
        assert scene.webhooks.health(endpoint.id).failures == 1
        scene.clock.advance(seconds=10)
        scene.work()
    assert (len(there.sent), len(here.sent)) == (1, 2)
    assert scene.webhooks.health(endpoint.id).failing_since is None


def test_the_answer_of_another_place_does_not_switch_it_off(scene: Scene) -> None:
    """It was moved while a delivery was on its way to where it had been."""
    sender = scene.pretend()
    endpoint, _ = scene.webhooks.add(URL, patterns="posts.*", retry=ONCE)
    sender.by_url[URL] = 410
    sender.before = lambda: scene.webhooks.update(endpoint.id, url=URL + "/new")
    scene.send()
    assert scene.webhooks.get(endpoint.id).enabled


def test_at_another_place_it_starts_anew(scene: Scene) -> None:
    scene.pretend().status = 500
    endpoint, _ = scene.webhooks.add(URL, patterns="posts.*", retry=ONCE)
    scene.send()
    scene.webhooks.update(endpoint.id, url=URL, description="the same place")
    assert scene.webhooks.health(endpoint.id).failures == 1
    scene.webhooks.update(endpoint.id, url=URL + "/new")
    assert scene.webhooks.health(endpoint.id) == Health(endpoint.id)


def test_a_quiet_endpoint_is_given_time(scene: Scene) -> None:
    """Nine failures, however long they take, are not a long row."""
    scene.pretend().status = 503
    endpoint, _ = scene.webhooks.add(URL, patterns="posts.*", retry=ONCE)
    for _ in range(9):
        scene.send()
        scene.clock.advance(days=3)
    assert scene.webhooks.get(endpoint.id).enabled
    scene.send()
    assert not scene.webhooks.get(endpoint.id).enabled


def test_the_time_is_a_setting() -> None:
    with Scene(webhook_disable_after=3600.0) as scene:
        scene.pretend().status = 503
        endpoint, _ = scene.webhooks.add(URL, patterns="posts.*", retry=ONCE)
        for minutes in (0, 59, 1):
            scene.clock.advance(minutes=minutes)
            assert scene.webhooks.get(endpoint.id).enabled
            for _ in range(10):
                scene.emit()
            scene.work()
        assert not scene.webhooks.get(endpoint.id).enabled


def test_who_is_switched_on_again_starts_anew(scene: Scene) -> None:
    sender = scene.pretend()
    endpoint, _ = scene.webhooks.add(URL, patterns="posts.*", retry=ONCE)
    scene.webhooks.add(URL + "/ear", patterns="webhook.*")
    sender.by_url[URL] = 500
    for _ in range(2):
        for _ in range(10):
            scene.send()
        scene.clock.advance(days=6)
    scene.send()
    assert not scene.webhooks.get(endpoint.id).enabled
    found = scene.webhooks.enable(endpoint.id)
    assert (found.enabled, found.reason, found.disabled_at) == (True, None, None)
    assert scene.webhooks.health(endpoint.id) == Health(endpoint.id)
    scene.send()
    assert scene.webhooks.get(endpoint.id).enabled
    assert len(told(scene)) == 1
    for _ in range(10):
        scene.send()
    scene.clock.advance(days=6)
    scene.send()
    assert not scene.webhooks.get(endpoint.id).enabled
    assert len(told(scene)) == 2


def test_by_hand_it_is_told_once_too(scene: Scene) -> None:
    endpoint, _ = scene.webhooks.add(URL, patterns="posts.*")
    scene.webhooks.add(URL, patterns=WEBHOOK_DISABLED)
    for reason in ("moving house", "again"):
        assert scene.webhooks.disable(endpoint.id, reason).reason == "moving house"
    now, bell = scene.clock.now(), scene.bell
    assert disable(scene.store, bell.runtime.subscriptions, endpoint.id, "once more", now) is None
    assert [event.data["reason"] for event in told(scene)] == ["moving house"]


def test_a_change_that_somebody_else_made_meanwhile_is_kept(scene: Scene) -> None:
    endpoint, _ = scene.webhooks.add(URL, patterns="posts.*")
    looks = []

    def slowly(known: Endpoint) -> EndpointUpdate:
        looks.append(known.description)
        if len(looks) == 1:
            scene.webhooks.update(endpoint.id, description="by another")
        return EndpointUpdate(msgspec.structs.replace(known, url=URL + "/new"))

    changed = change(scene.store, endpoint.id, slowly)
    assert looks == ["", "by another"]
    found = scene.webhooks.get(endpoint.id)
    assert changed == found
    assert (found.url, found.description) == (URL + "/new", "by another")
    assert change(scene.store, endpoint.id[::-1], slowly) is None
