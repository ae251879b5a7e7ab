"""What `workbell doctor` says of endpoints: those in trouble, wherever they stand among the others."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.webhook_scene import ONCE, URL, Scene
from workbell.doctor.events import MOST, event_findings
from workbell.sealing import new_key


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


def test_secrets_that_are_not_sealed(scene: Scene) -> None:
    scene.webhooks.add(URL, patterns="posts.*")
    assert "stored unsealed" in " ".join(found(scene, "webhooks"))
    with Scene(secret_key=new_key()) as sealed:
        sealed.webhooks.add(URL, patterns="posts.*")
        assert "stored unsealed" not in " ".join(found(sealed, "webhooks"))
