"""What `workbell doctor` says of endpoints: those in trouble, wherever they stand among the others."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.webhook_scene import ONCE, URL, Scene
from tests.unit.makers import worker_of
from workbell.doctor.events import MOST, event_findings
from workbell.trust.sealing import new_key
from workbell.webhooks.limits import FAILING_AFTER


@pytest.fixture
def scene() -> Iterator[Scene]:
    with Scene() as scene:
        yield scene


def found(scene: Scene, what: str) -> list[str]:
    return [one.text for one in event_findings(scene.store) if one.what == what]


def test_a_failing_endpoint_is_found_behind_many_that_do_well(scene: Scene) -> None:
    sender = scene.pretend()
    for number in range(MOST):
        scene.webhooks.add(f"{URL}/{number}", patterns="posts.*")
    bad, _ = scene.webhooks.add(URL + "/bad?token=hush", patterns="posts.*", retry=ONCE)
    sender.by_url[bad.url] = 500
    scene.send()
    scene.clock.advance(minutes=5)
    (told,) = found(scene, "failing endpoint")
    assert told == f"{bad.id} ({URL}/bad?…): the last attempt failed; the first of them 5 min ago"
    scene.webhooks.disable(bad.id, "moving house")
    assert found(scene, "failing endpoint") == []
    assert found(scene, "disabled endpoint") == [f"{bad.id} ({URL}/bad?…): moving house"]


def test_a_slowed_endpoint_is_a_risk_with_its_remedy(scene: Scene) -> None:
    """Said by the doctor, by `describe`, and by `why` of a delivery that waits; until it answers again."""
    sender = scene.pretend()
    bad, _ = scene.webhooks.add(URL, patterns="posts.*", retry=ONCE)
    sender.by_url[bad.url] = 503
    for _ in range(FAILING_AFTER):
        assert scene.webhooks.describe(bad.id)["slowed"] is None
        scene.send()
    began = scene.bell.webhooks.health(bad.id).failing_since
    scene.bell.pause(queue="webhooks")
    waiting = [scene.bell.emit("posts.published", {"n": number}) for number in range(3)]
    scene.work()  # they get their deliveries
    scene.bell.resume(queue="webhooks")
    told = scene.webhooks.describe(bad.id)["slowed"]
    assert told == {"since": began, "waiting": 3, "capped": False}
    words = f"slowed to one attempt a minute: 10 attempts in a row have failed since {began:%Y-%m-%d %H:%M:%S} UTC"
    remedy = f"`workbell webhooks test {bad.id}` tries now, and lets them go on if it is answered."
    assert found(scene, "slowed endpoint") == [f"{bad.id} ({URL}): {words}; 3 deliveries wait; {remedy}"]
    assert found(scene, "failing endpoint") == []
    (run,) = scene.bell.runs(event=waiting[0].id)
    scene.store.workers.put(worker_of("webhook-delivery", queues=("webhooks",), now=scene.clock.now()))
    assert f"Its endpoint {URL} is {words}; 3 deliveries wait. It spends no attempt meanwhile. {remedy}" == (
        scene.bell.why(run.id)
    )
    scene.store.subscribers.note_delivery(bad.id, True, scene.clock.now())
    assert scene.webhooks.describe(bad.id)["slowed"] is None
    assert found(scene, "slowed endpoint") == []


def test_secrets_that_are_not_sealed(scene: Scene) -> None:
    scene.webhooks.add(URL, patterns="posts.*")
    assert "stored unsealed" in " ".join(found(scene, "webhooks"))
    with Scene(secret_key=new_key()) as sealed:
        sealed.webhooks.add(URL, patterns="posts.*")
        assert "stored unsealed" not in " ".join(found(sealed, "webhooks"))
