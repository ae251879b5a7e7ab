"""Sending again: one event, or all since a time that were not delivered; and the test ping."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from tests.support.webhook_scene import ONCE, URL, Pretended, Scene
from workbell import Status
from workbell.engine.match_events import MatchEvents
from workbell.errors import EndpointNotFound, EventNotFound, InvalidOption
from workbell.model.event import MatchOutcome
from workbell.model.ids import new_id
from workbell.webhooks.limits import FAILING_AFTER, FRESH


@pytest.fixture
def scene() -> Iterator[Scene]:
    with Scene() as scene:
        yield scene


@pytest.fixture
def sender(scene: Scene) -> Pretended:
    return scene.pretend()


def outcome(scene: Scene, event: str, endpoint: str) -> tuple[MatchOutcome, str | None, str | None]:
    (found,) = [one for one in scene.store.events.matches(event, after=None, limit=9) if one.subscriber == endpoint]
    return found.outcome, found.run, found.reason


def test_one_event_is_sent_again_whatever_became_of_it(scene: Scene, sender: Pretended) -> None:
    endpoint, _ = scene.webhooks.add(URL, patterns="posts.*", retry=ONCE)
    other, _ = scene.webhooks.add(URL + "/other", patterns="posts.*")
    good = scene.send()
    sender.by_url[URL] = 500
    bad = scene.send()
    sender.by_url.clear()
    for event in (good, bad, good):
        (made,) = scene.webhooks.replay(endpoint.id, event=event)
        assert (made.event, made.endpoint, made.status) == (event, endpoint.id, "queued")
        assert outcome(scene, event, endpoint.id) == (MatchOutcome.STARTED, made.id, None)
        scene.work()
        assert scene.bell.get(made.id).status is Status.SUCCEEDED
    mine = [headers["webhook-id"] for url, headers in sender.sent if url == URL]
    assert mine == [good, bad, good, bad, good]
    assert len(scene.webhooks.deliveries(other.id)) == 2


def test_what_was_not_delivered_since_a_time(scene: Scene, sender: Pretended) -> None:
    """Failed, canceled, and told while it was disabled; not what was delivered, and not what is on its way."""
    endpoint, _ = scene.webhooks.add(URL, patterns="posts.*", retry=ONCE)
    sender.status = 500
    long_ago = scene.send()
    since = scene.clock.advance(60)
    failed = scene.send()
    sender.status = 200
    delivered = scene.send()
    canceled = scene.emit()
    scene.webhooks.disable(endpoint.id)
    scene.work()
    assert outcome(scene, canceled, endpoint.id)[0] is MatchOutcome.DISABLED
    missed = scene.send()
    scene.webhooks.enable(endpoint.id)
    assert sender.ids == [long_ago, failed, delivered]
    sent = len(sender.sent)
    live = scene.emit()
    _fan_out(scene)
    made = scene.webhooks.replay(endpoint.id, since=since)
    assert sorted(one.event or "" for one in made) == sorted([failed, canceled, missed])
    scene.work()
    assert sorted(sender.ids[sent:]) == sorted([failed, canceled, missed, live])
    assert scene.webhooks.replay(endpoint.id, since=since) == []
    assert [one.event for one in scene.webhooks.replay(endpoint.id, since=since - timedelta(seconds=60))] == [long_ago]


def test_a_delivery_that_was_queued_when_it_was_switched_off(scene: Scene, sender: Pretended) -> None:
    endpoint, _ = scene.webhooks.add(URL, patterns="posts.*")
    since = scene.clock.now()
    event = scene.emit()
    _fan_out(scene)
    scene.webhooks.disable(endpoint.id, "moving house")
    scene.work()
    (found,) = scene.webhooks.deliveries(endpoint.id)
    assert (found.status, found.error) == ("canceled", "its endpoint is disabled: moving house")
    assert sender.sent == []
    scene.webhooks.enable(endpoint.id)
    scene.webhooks.replay(endpoint.id, since=since)
    scene.work()
    assert sender.ids == [event]


def test_so_many_that_they_come_in_pages(scene: Scene, sender: Pretended, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbell.webhooks.replay.PAGE", 3)
    endpoint, _ = scene.webhooks.add(URL, patterns="posts.*", retry=ONCE)
    sender.status = 500
    events = []
    for number in range(11):
        events.append(scene.send())
        sender.status = 200 if number == 4 else 500
        scene.clock.advance(1)
    made = scene.webhooks.replay(endpoint.id, since=scene.clock.now() - timedelta(seconds=9))
    assert sorted(one.event or "" for one in made) == sorted(set(events[2:]) - {events[5]})


def test_what_cannot_be_replayed(scene: Scene, sender: Pretended) -> None:
    endpoint, _ = scene.webhooks.add(URL, patterns="posts.*")
    event = scene.send()
    unheard = scene.send("users.created")
    replay = scene.webhooks.replay
    for unknown in (new_id(), "nonsense", "", "x" * 5000, event.upper() + " "):
        with pytest.raises(EventNotFound, match="There is no event"):
            replay(endpoint.id, event=unknown)
    with pytest.raises(InvalidOption, match="did not match endpoint"):
        replay(endpoint.id, event=unheard)
    with pytest.raises(InvalidOption, match="one of the two"):
        replay(endpoint.id)
    with pytest.raises(InvalidOption, match="one of the two"):
        replay(endpoint.id, event=event, since=scene.clock.now())
    with pytest.raises(InvalidOption, match="has no time zone"):
        replay(endpoint.id, since=datetime(2030, 1, 1))  # noqa: DTZ001
    with pytest.raises(EndpointNotFound):
        replay(new_id(), event=event)
    scene.webhooks.disable(endpoint.id, "moving house")
    for chosen in ({"event": event}, {"since": scene.clock.now() - timedelta(days=1)}):
        with pytest.raises(InvalidOption, match="is disabled: moving house; enable it first"):
            replay(endpoint.id, **chosen)  # type: ignore[arg-type]
    assert len(scene.webhooks.deliveries(endpoint.id)) == 1
    assert sender.ids == [event]


def test_an_event_of_another_tenant_is_not_there(scene: Scene, sender: Pretended) -> None:
    other = scene.bell.for_tenant("other")
    endpoint, _ = scene.webhooks.add(URL, patterns="posts.*")
    other.webhooks.add(URL, patterns="posts.*")
    event = other.emit("posts.created", {})
    scene.work()
    with pytest.raises(EventNotFound):
        scene.webhooks.replay(endpoint.id, event=event.id)


def test_a_ping_goes_to_one_endpoint(scene: Scene, sender: Pretended) -> None:
    endpoint, _ = scene.webhooks.add(URL, patterns="posts.*")
    for number, patterns in enumerate(["webhook.*", "webhook.ping", "*", "webhook.**"]):
        scene.webhooks.add(f"{URL}/{number}", patterns=patterns)
    ping = scene.webhooks.test(endpoint.id)
    assert (ping.endpoint, ping.status) == (endpoint.id, "queued")
    scene.work()
    ((url, headers),) = sender.sent
    assert (url, headers["webhook-id"]) == (URL, ping.event)
    assert scene.last(endpoint) == scene.webhooks.deliveries(endpoint.id, status="succeeded")[0]
    assert (scene.last(endpoint).id, scene.last(endpoint).status_code) == (ping.id, 200)
    event = scene.store.events.find([ping.event or ""])[ping.event or ""]
    assert (event.type, event.system, event.subject) == ("webhook.ping", True, endpoint.id)
    scene.webhooks.replay(endpoint.id, event=event.id)
    scene.work()
    assert sender.ids == [event.id, event.id]
    scene.webhooks.disable(endpoint.id, "moving house")
    with pytest.raises(InvalidOption, match="is disabled: moving house; enable it first"):
        scene.webhooks.test(endpoint.id)
    with pytest.raises(EndpointNotFound):
        scene.webhooks.test(new_id())


def _fan_out(scene: Scene) -> None:
    """Make the deliveries, and send none."""
    bell = scene.bell
    MatchEvents(bell.store, bell.registry, bell.runtime.subscriptions, lambda _: None, 1).fan_out_waiting(
        scene.clock.now()
    )


def test_a_ping_passes_what_waits_and_counts_for_nothing_when_it_fails(scene: Scene, sender: Pretended) -> None:
    sender.status = 500
    dead, _ = scene.webhooks.add(URL, patterns="posts.*", retry=ONCE)
    for _ in range(FAILING_AFTER):
        scene.send()
    scene.clock.advance(FRESH + 0.001)
    scene.send()
    scene.send()
    assert scene.last(dead).status == Status.QUEUED, "it is only probed"
    failures = scene.webhooks.health(dead.id).failures
    ping = scene.webhooks.test(dead.id)
    scene.work()
    assert scene.last(dead) == scene.webhooks.deliveries(dead.id)[0]
    assert (scene.last(dead).id, scene.last(dead).status, scene.last(dead).attempts) == (ping.id, Status.FAILED, 1)
    assert scene.webhooks.health(dead.id).failures == failures
    sender.status = 200
    scene.webhooks.test(dead.id)
    scene.work()
    assert scene.webhooks.health(dead.id).failures == 0, "it answers: it is probed no longer"


def test_a_delivery_that_is_retried_is_not_replayed_as_well(scene: Scene, sender: Pretended) -> None:
    began = scene.clock.now()
    sender.status = 500
    endpoint, _ = scene.webhooks.add(URL, patterns="posts.*", retry=ONCE)
    event = scene.send()
    sender.status = 200
    run = scene.bell.retry(scene.last(endpoint).id)
    assert outcome(scene, event, endpoint.id) == (MatchOutcome.STARTED, run.id, None)
    scene.work()
    assert scene.webhooks.replay(endpoint.id, since=began) == []
    assert sender.ids == [event, event]


def test_what_cannot_be_retried_for_lack_of_its_event(scene: Scene, sender: Pretended) -> None:
    sender.status = 500
    endpoint, _ = scene.webhooks.add(URL, patterns="posts.*", retry=ONCE)
    scene.send()
    failed = scene.last(endpoint).id
    scene.remove_all("workbell_events")
    with pytest.raises(EventNotFound, match="was removed, so it cannot be run again"):
        scene.bell.retry(failed)


def test_nobody_enqueues_a_delivery_by_hand(scene: Scene) -> None:
    endpoint, _ = scene.webhooks.add(URL, patterns="posts.*")
    with pytest.raises(InvalidOption, match=r"Workbell's own, which enqueues it itself; see bell.webhooks"):
        scene.bell.enqueue("webhook-delivery", {"endpoint": endpoint.id})
    assert scene.webhooks.deliveries(endpoint.id) == []
