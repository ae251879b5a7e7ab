"""A trigger with the processor `webhook-delivery`: each event that matches goes to all endpoints of the tenant (C8)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from tests.support.webhook_scene import ONCE, URL, Pretended, Scene
from tests.unit.makers import worker_of
from workbell import Retry, Run, Status
from workbell.engine.match_events import MatchEvents
from workbell.errors import StoreUnavailable
from workbell.model.event import MatchOutcome, Rematch
from workbell.model.job import DELIVERY
from workbell.model.trigger import DEFAULT_RETRY
from workbell.stores.sqlite.store import SqliteStore
from workbell.webhooks import to_all
from workbell.webhooks.limits import FAILING_AFTER, FRESH

NEVER = "nothing.like_this"
TWICE = Retry(attempts=2, delay=0, jitter=0)


@pytest.fixture
def scene() -> Iterator[Scene]:
    with Scene() as scene:
        yield scene


@pytest.fixture
def sender(scene: Scene) -> Pretended:
    return scene.pretend()


def trigger(scene: Scene, name: str = "everybody", pattern: str = "posts.*", **settings: Any) -> str:
    return scene.bell.triggers.add(name, pattern=pattern, processor=DELIVERY, **settings).id


def receiver(scene: Scene, place: str = "", patterns: str = NEVER, **settings: Any) -> str:
    return scene.webhooks.add(URL + place, patterns=patterns, **settings).endpoint.id


def execution(scene: Scene, name: str = "everybody") -> Run:
    """The newest run of a trigger."""
    return scene.bell.get(scene.bell.executions(trigger=name, limit=1)[0].id)


def told(deliveries: int, already: tuple[str, ...] = (), disabled: int = 0) -> dict[str, Any]:
    return {
        "deliveries": deliveries,
        "already": len(already),
        "disabled": disabled,
        "already_endpoints": sorted(already),
    }


def fates(scene: Scene, event: str) -> dict[str, MatchOutcome]:
    found = scene.store.events.matches(event, after=None, limit=100)
    return {match.subscriber: match.outcome for match in found}


def test_an_event_goes_to_every_endpoint(scene: Scene, sender: Pretended) -> None:
    one, two = receiver(scene, "/1"), receiver(scene, "/2")
    trigger_id = trigger(scene)
    event = scene.send()
    unheard = scene.send("users.created")
    assert sorted(url for url, _ in sender.sent) == [URL + "/1", URL + "/2"]
    assert set(sender.ids) == {event}
    run = execution(scene)
    assert (run.job, run.queue, run.lane.key, run.event, run.result) == (DELIVERY, "webhooks", None, event, told(2))
    assert run.options.retry == DEFAULT_RETRY
    (shown,) = scene.bell.executions(trigger="everybody")
    assert (shown.job_id, shown.status, shown.attempt_number) == (trigger_id, "completed", 1)
    assert fates(scene, event) == dict.fromkeys([one, two, trigger_id], MatchOutcome.STARTED)
    assert fates(scene, unheard) == {}
    for endpoint in (one, two):
        (delivery,) = scene.webhooks.deliveries(endpoint)
        assert (delivery.endpoint, delivery.event, delivery.status) == (endpoint, event, "succeeded")
        assert scene.bell.get(delivery.id).parent == run.id


def test_not_twice_to_one_whose_own_pattern_matched(scene: Scene, sender: Pretended) -> None:
    own, other = receiver(scene, "/own", "posts.*"), receiver(scene, "/other")
    trigger(scene)
    scene.send()
    assert sorted(url for url, _ in sender.sent) == [URL + "/other", URL + "/own"]
    assert execution(scene).result == told(1, (own,))
    assert [len(scene.webhooks.deliveries(one)) for one in (own, other)] == [1, 1]


def test_two_triggers_send_once(scene: Scene, sender: Pretended) -> None:
    endpoint = receiver(scene)
    trigger(scene, "first")
    trigger(scene, "second", "*")
    scene.send()
    assert len(sender.sent) == 1
    results = [execution(scene, name).result for name in ("first", "second")]
    assert sorted(results, key=lambda one: one["deliveries"]) == [told(0, (endpoint,)), told(1)]


@pytest.mark.parametrize("written", [True, False])
def test_repeated_after_a_crash(
    scene: Scene, sender: Pretended, monkeypatch: pytest.MonkeyPatch, written: bool
) -> None:
    """Of deliveries in batches, one batch is written; whether the next is too, nobody can say."""
    monkeypatch.setattr(to_all, "BATCH", 1)
    endpoints = [receiver(scene, f"/{number}") for number in range(3)]
    trigger(scene, retry=TWICE)
    add, calls = scene.store.events.rematch, []

    def breaking(matched: list[Rematch]) -> set[str]:
        calls.append(matched)
        if len(calls) != 2:
            return add(matched)
        if written:
            add(matched)
        raise StoreUnavailable("The database does not answer.")

    monkeypatch.setattr(scene.store.events, "rematch", breaking)
    event = scene.send()
    run = execution(scene)
    assert (run.attempt, run.status, run.result) == (2, Status.SUCCEEDED, told(3))
    assert sorted(url for url, _ in sender.sent) == [f"{URL}/{number}" for number in range(3)]
    assert set(sender.ids) == {event}
    assert [len(scene.webhooks.deliveries(one)) for one in endpoints] == [1, 1, 1]


def test_run_again_by_hand_it_sends_nothing_twice(scene: Scene, sender: Pretended) -> None:
    before = receiver(scene, "/before")
    trigger(scene)
    scene.send()
    later = receiver(scene, "/later")
    scene.bell.retry(execution(scene).id)
    scene.work()
    assert [url for url, _ in sender.sent] == [URL + "/before", URL + "/later"]
    assert execution(scene).result == told(1, (before,))
    assert len(scene.webhooks.deliveries(later)) == 1


def test_a_disabled_endpoint_can_have_it_replayed(scene: Scene, sender: Pretended) -> None:
    on, off = receiver(scene, "/on"), receiver(scene, "/off")
    trigger(scene)
    scene.webhooks.disable(off, "moving house")
    since = scene.clock.now()
    event = scene.send()
    assert [url for url, _ in sender.sent] == [URL + "/on"]
    assert execution(scene).result == told(1, disabled=1)
    (missed,) = scene.store.events.matches_of_subscriber(off, before=None, limit=9)
    assert (missed.event, missed.outcome, missed.run, missed.reason) == (
        event,
        MatchOutcome.DISABLED,
        None,
        "moving house",
    )
    scene.webhooks.enable(off)
    assert len(scene.webhooks.replay(off, since=since)) == 1
    assert len(scene.webhooks.replay(on, event=event)) == 1
    scene.work()
    assert sorted(url for url, _ in sender.sent[1:]) == [URL + "/off", URL + "/on"]
    assert set(sender.ids) == {event}


def test_enabled_since_its_own_pattern_matched_it_stays_as_it_is_on_record(scene: Scene, sender: Pretended) -> None:
    """It has a place in the ledger: whoever wants what it missed replays it."""
    endpoint = receiver(scene, patterns="posts.*")
    scene.webhooks.disable(endpoint)
    trigger(scene)
    event = scene.emit()
    MatchEvents(scene.store, scene.bell.registry, scene.bell.runtime.subscriptions, lambda _: None, 1.0).step(
        scene.clock.now()
    )
    scene.webhooks.enable(endpoint)
    scene.work()
    assert (sender.sent, fates(scene, event)[endpoint]) == ([], MatchOutcome.DISABLED)
    assert execution(scene).result == told(0, disabled=1)


def test_never_to_endpoints_of_others(scene: Scene, sender: Pretended) -> None:
    other = scene.bell.for_tenant("other")
    other.webhooks.add(URL + "/theirs", patterns=NEVER)
    mine = receiver(scene, "/mine")
    trigger(scene, pattern="*")
    event = scene.send()
    other.emit("posts.created", {})
    scene.work()
    assert [url for url, _ in sender.sent] == [URL + "/mine"]
    assert set(fates(scene, event)) == {mine, scene.bell.triggers.get("everybody").id}
    other.triggers.add("theirs", pattern="posts.*", processor=DELIVERY)
    other.emit("posts.created", {})
    scene.work()
    assert [url for url, _ in sender.sent] == [URL + "/mine", URL + "/theirs"]


def test_the_policy_of_the_trigger_counts_before_the_endpoint_s(scene: Scene, sender: Pretended) -> None:
    endpoint = receiver(scene, retry=ONCE)
    trigger(scene, "plain", "users.*")
    trigger(scene, "patient", "posts.*", retry_config={"max_attempts": 2, "initial_delay_ms": 0})
    sender.status = 500
    scene.send("users.created")
    scene.send("posts.created")
    policies = {one.event: scene.bell.get(one.id).options.retry for one in scene.webhooks.deliveries(endpoint)}
    assert {retry.attempts for retry in policies.values() if retry is not None} == {1, 2}
    assert execution(scene, "plain").options.retry == DEFAULT_RETRY
    assert execution(scene, "patient").options.retry == Retry(attempts=2, delay=0, factor=2, cap=60, jitter=0)
    assert [one.attempts for one in scene.webhooks.deliveries(endpoint)] == [2, 1]


def test_failing_endpoints_hold_up_no_trigger(scene: Scene, sender: Pretended) -> None:
    endpoint = receiver(scene, retry=ONCE)
    trigger(scene)
    sender.status = 500
    for _ in range(FAILING_AFTER):
        scene.send()
    scene.clock.advance(FRESH + 0.001)
    for _ in range(20):
        scene.emit()
    scene.work()
    runs = scene.bell.executions(trigger="everybody", limit=100)
    assert [one.status for one in runs] == ["completed"] * (FAILING_AFTER + 20)
    waiting = scene.webhooks.deliveries(endpoint, status="queued")
    assert len(waiting) == 19  # one was the probe
    job = scene.bell.registry.find(DELIVERY)
    assert job is not None
    assert job.limits_of(execution(scene).lane) == ()


def test_events_of_the_system_s_own_make_no_circle(scene: Scene, sender: Pretended) -> None:
    receiver(scene)
    trigger(scene, pattern="job.*")

    @scene.bell.job
    def work() -> None: ...

    work.enqueue()
    scene.work()
    assert len(sender.sent) == 2  # job.started and job.completed
    assert len(scene.bell.runs(job=DELIVERY)) == 4


def test_an_event_that_was_removed(scene: Scene, sender: Pretended) -> None:
    receiver(scene)
    trigger(scene)
    scene.emit()
    duty = MatchEvents(scene.store, scene.bell.registry, scene.bell.runtime.subscriptions, lambda _: None, 1.0)
    duty.step(scene.clock.now())
    assert isinstance(scene.store, SqliteStore)
    scene.store.file.write(lambda connection: connection.execute("DELETE FROM workbell_events"))
    scene.work()
    run = execution(scene)
    assert (run.status, run.reason, sender.sent) == (Status.CANCELED, "its event was removed", [])


def test_without_the_packages_it_waits(scene: Scene) -> None:
    receiver(scene)
    scene.bell.registry._built_in.pop(DELIVERY, None)
    trigger(scene)
    scene.emit()
    scene.work()
    run = execution(scene)
    assert (run.status, run.queue) == (Status.QUEUED, "webhooks")
    scene.store.workers.put(worker_of("other", now=scene.clock.now()))
    assert "the packages for it are not installed" in scene.bell.why(run.id)
    scene.pretend()
    scene.work()
    assert execution(scene).result == told(1)


def test_a_result_of_many_endpoints_stays_small(
    scene: Scene, sender: Pretended, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(to_all, "SHOWN", 2)
    for number in range(3):
        receiver(scene, f"/{number}", "posts.*")
    trigger(scene)
    scene.send()
    result = execution(scene).result
    assert (result["already"], len(result["already_endpoints"])) == (3, 2)


def test_since_a_time_the_deliveries_are_replayed_as_others(scene: Scene, sender: Pretended) -> None:
    endpoint = receiver(scene, retry=ONCE)
    trigger(scene)
    sender.status = 500
    event = scene.send()
    sender.status = 200
    (again,) = scene.webhooks.replay(endpoint, since=scene.clock.now() - timedelta(hours=1))
    scene.work()
    assert (scene.bell.get(again.id).status, sender.ids) == (Status.SUCCEEDED, [event, event])
