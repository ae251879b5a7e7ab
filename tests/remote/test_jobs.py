"""Jobs over HTTP: every verb gives what the Workbell itself gives (D2)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.remote.conftest import Scene
from tests.support.inside.features import JOB_OPTIONS as OPTIONS
from workbell import InvalidOption, JobDisabled, JobExists, JobInUse, NotFound, Retry

ALL: dict[str, Any] = {
    "description": "All of it.",
    "queue": "q",
    "retry": Retry(attempts=2, give_up_on=["x.Y"]),
    "timeout": timedelta(seconds=90),
    "concurrency": 3,
    "concurrency_key": "to",
    "rate": "7/m",
    "rate_key": "to",
    "alert_url": "https://93.184.216.34/alert/secret",
    "ping_url": "https://93.184.216.34/ping/secret",
    "priority": 5,
    "target": "label:gpu",
    "tag": "nightly",
    "replace_tag": True,
    "user_id": "0198c2f3-5a6b-7c8d-9e0f-1a2b3c4d5e6f",
    "persistent": False,
    "auto_reschedule": timedelta(minutes=10),
    "remove_delay": 60,
    "expires": timedelta(hours=1),
}


def test_every_option_is_tried_below() -> None:
    assert set(ALL) == OPTIONS


@pytest.fixture
def name(scene: Scene, request: pytest.FixtureRequest) -> Any:
    made = f"send-{request.node.name}"[:100]
    yield made
    if any(job.name == made for job in scene.bell.jobs.list()):
        scene.bell.jobs.delete(made)


def test_a_definition_with_all_its_options(scene: Scene, name: str) -> None:
    made = scene.client.jobs.put(name, handler="send", input={"to": "ö"}, **ALL)
    local = scene.bell.jobs.get(name)
    assert made.alert_url is not None
    assert "secret" not in made.alert_url
    urls = ("alert_url", "ping_url")
    assert {word: value for word, value in scene.shown(made).items() if word not in urls} == {
        word: value for word, value in scene.shown(local).items() if word not in urls
    }
    assert scene.client.jobs.put(name, handler="send", input={"to": "ö"}, **ALL).version == 1


def test_the_life_of_a_definition(scene: Scene, name: str) -> None:
    for put in (scene.asked, scene.awaited):
        made = put("jobs.put", name, handler="send", input={"to": "x"})
    assert scene.same("jobs.get", name).id == made.id
    assert name in [job.name for job in scene.same("jobs.list") if job.is_definition]
    run = scene.client.enqueue(name)
    assert scene.bell.get(run.id).input == {"to": "x"}
    assert not scene.client.jobs.disable(name).enabled
    scene.raises(JobDisabled, "enqueue", name)
    assert scene.client.jobs.enable(name).enabled
    scene.client.schedules.put(name, job=name, every=3600)
    scene.raises(JobInUse, "jobs.delete", name)
    scene.client.schedules.delete(name)
    scene.client.jobs.delete(name)
    scene.raises(NotFound, "jobs.get", name)


def test_a_change_of_each_option(scene: Scene, name: str) -> None:
    scene.client.jobs.put(name, handler="send")
    for word, value in ALL.items():
        if word not in ("replace_tag", "concurrency_key", "rate_key"):  # which need another one
            scene.asked("jobs.update", name, **{word: value})
    scene.awaited("jobs.update", name, input={"to": "ö"}, replace_tag=True, concurrency_key="to", rate_key="to")
    version = scene.bell.jobs.get(name).version
    assert scene.client.jobs.put(name, handler="send", input={"to": "ö"}, **ALL).version == version
    scene.client.jobs.update(name, **dict.fromkeys(ALL), input=None)
    found = scene.bell.jobs.get(name)
    plain = scene.bell.jobs.put(name, handler="send")
    assert plain == found, "None takes each of them back"


def test_what_is_refused(scene: Scene, name: str) -> None:
    scene.raises(JobExists, "jobs.put", "send", handler="other")
    scene.bell.jobs.put(name, handler="send")
    scene.raises(InvalidOption, "jobs.put", "chained", handler=name)
    scene.raises(InvalidOption, "jobs.enable", "send")
    scene.raises(InvalidOption, "jobs.update", "send", timeout=9)
    scene.raises(NotFound, "jobs.update", "chained", timeout=9)
