"""Events, triggers and executions over HTTP: every verb gives what the Workbell itself gives."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.remote.conftest import Scene
from tests.support.inside.remote import following
from workbell import (
    EventNotFound,
    InvalidEvent,
    InvalidOption,
    Retry,
    RunNotFound,
    TriggerExists,
    TriggerNotFound,
    UnknownProcessor,
)
from workbell.testing import drain

NOBODY = "0198c2f3-5a6b-7c8d-9e0f-1a2b3c4d5e6f"


@pytest.mark.parametrize("ask", ["asked", "awaited"])
def test_emit_tells_the_event_that_it_answers(scene: Scene, ask: str) -> None:
    told = getattr(scene, ask)("emit", "posts.created", {"id": 7}, subject="7", source="/blog", key=f"k-{ask}")
    assert scene.shown(told) == scene.shown(scene.bell.events.get(told.id))
    again = getattr(scene, ask)("emit", "posts.created", {"id": 8}, source="/blog", key=f"k-{ask}")
    assert (again.id, again.data) == (told.id, {"id": 7})
    plain = getattr(scene, ask)("emit", "posts.removed")
    assert scene.shown(plain) == scene.shown(scene.bell.events.get(plain.id))


def test_emit_is_refused_in_the_same_words(scene: Scene) -> None:
    scene.raises(InvalidEvent, "emit", "job.failed")
    scene.raises(InvalidEvent, "emit", "posts..created")


def test_looking_at_events(scene: Scene) -> None:
    bell = scene.bell
    for number in range(3):
        bell.emit(f"looks.number{number}", number)
    listed = scene.same("events.list", type="looks.*")
    assert [event.data for event in listed] == [2, 1, 0]
    scene.same("events.list", type="looks.number1")
    scene.same("events.list", limit=2)
    scene.same("events.list", type="looks.*", before=listed[0].id, limit=1)
    scene.same("events.get", listed[0].id)
    scene.raises(EventNotFound, "events.get", NOBODY)
    scene.raises(EventNotFound, "events.matches", NOBODY)


@pytest.mark.parametrize("ask", ["asked", "awaited"])
def test_triggers(scene: Scene, ask: str) -> None:
    name = f"t-{ask}"
    retry = Retry(attempts=4, delay=2, factor=3, cap=30, jitter=0)
    made = getattr(scene, ask)("triggers.add", name, pattern="a.*", processor="count", description="D", retry=retry)
    there = scene.bell.triggers.get(name)
    assert scene.shown(made) == scene.shown(there)
    assert (there.retry, there.enabled, there.description) == (retry, True, "D")
    scene.same("triggers.get", name)
    scene.same("triggers.get", made.id)
    scene.same("triggers.list")
    scene.raises(TriggerExists, "triggers.add", name, pattern="a.*", processor="count")
    scene.raises(UnknownProcessor, "triggers.add", "other", pattern="a.*", processor="nobody")
    changed = getattr(scene, ask)("triggers.update", name, pattern="b.**", retry_config={"max_attempts": 2})
    assert (changed.pattern, scene.bell.triggers.get(name).retry) == ("b.**", replace(retry, attempts=2))
    assert getattr(scene, ask)("triggers.update", name, retry=None).retry is None
    assert scene.bell.triggers.get(name).retry is None
    assert not getattr(scene, ask)("triggers.disable", name).enabled
    assert getattr(scene, ask)("triggers.enable", name).enabled
    assert getattr(scene, ask)("triggers.delete", name) is None
    for verb in ("get", "enable", "disable", "delete"):
        scene.raises(TriggerNotFound, f"triggers.{verb}", name)


def test_what_came_of_an_event(scene: Scene) -> None:
    bell = scene.bell
    bell.triggers.add("counts", pattern="counted.*", processor="count")
    bell.triggers.add("off", pattern="counted.once", processor="count", enabled=False)
    scene.same("events.match", "counted.once")
    assert {one.name for one in scene.same("events.match", "counted.once", system=False)} == {"counts", "off"}
    event = bell.emit("counted.once")
    drain(bell)
    matches = scene.same("events.matches", event.id)
    assert {str(one.outcome) for one in matches} == {"started", "disabled"}
    scene.same("events.matches", event.id, after=matches[0].subscriber, limit=1)
    executions = scene.same("executions", trigger="counts")
    assert [one.result for one in executions] == [{"type": "counted.once"}]
    scene.same("executions")
    scene.same("executions", event=event.id, status="completed")
    scene.same("executions", limit=1, before=executions[0].id)
    scene.same("execution", executions[0].id)
    assert len(scene.same("invocations", executions[0].id)) == 1
    scene.raises(RunNotFound, "execution", NOBODY)
    scene.raises(RunNotFound, "invocations", bell.enqueue("send", {"to": "x"}).id)
    for refused in ({"status": "gone"}, {"limit": 0}, {"before": "no-id"}):
        with pytest.raises(InvalidOption):
            scene.client.executions(**refused)  # type: ignore[arg-type]


def test_new_events_come_as_they_are_told(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "POLL", 0.01)
    scene.bell.emit("tail.before")
    tail = scene.client.events.tail(type="tail.*")
    scene.bell.emit("other.type")
    told = [scene.bell.emit("tail.one"), scene.bell.emit("tail.two")]
    assert [next(tail).id, next(tail).id] == [event.id for event in told]
    late = scene.bell.emit("tail.three")
    assert next(tail).id == late.id
    tail.close()
