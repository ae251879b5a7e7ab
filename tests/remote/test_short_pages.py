"""Pages that the service cut because they would be too large: a client follows `next`, and has what it asked for."""

from __future__ import annotations

from typing import Any

import pytest

from tests.remote.conftest import Scene
from tests.support.inside.http import bounded_pages
from workbell.testing import drain


@pytest.fixture(params=[1, 600])
def short_pages(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of one row, and of a few."""
    monkeypatch.setattr(bounded_pages, "MOST_BYTES", request.param)


@pytest.fixture(scope="module")
def things(module_scene: Scene) -> dict[str, Any]:
    """A few of everything that is listed."""
    bell = module_scene.bell
    bell.triggers.add("counts", pattern="posts.*", processor="count")
    endpoint = bell.webhooks.add("https://hooks.example.com/x", patterns=["nothing.*"]).endpoint
    for number in range(4):
        bell.emit("posts.created", {"number": number})
        bell.notify(7, {"number": number})
        bell.schedules.put(f"nightly-{number}", job="send", cron="0 3 * * *", input={"to": "x"})
        bell.webhooks.test(endpoint.id)
        bell.audit.add("things.made", str(number), actor="ada")
    run = bell.enqueue("send", {"to": "x"})
    drain(bell)
    for what in ({"job": "a"}, {"queue": "b"}, {"job": "a", "queue": "b"}):
        bell.pause(**what)
    return {"run": run, "endpoint": endpoint}


@pytest.mark.usefixtures("short_pages")
def test_a_client_follows_next(scene: Scene, things: dict[str, Any]) -> None:
    for verb in ("events.list", "executions", "audit.list", "schedules.list"):
        assert len(scene.same(verb)) >= 4, verb
        assert len(scene.same(verb, limit=3)) == 3, verb
    everything = scene.bell.notifications.list(7)
    assert len(everything) == 4
    assert scene.shown(scene.asked("notifications.list")) == scene.shown(everything)
    assert len(scene.same("pauses")) == 3
    assert len(scene.same("logs", things["run"].id)) == 2
    assert len(scene.same("webhooks.deliveries", things["endpoint"].id)) == 4


@pytest.mark.usefixtures("short_pages")
def test_a_page_begins_where_one_asks_for_it(scene: Scene, things: dict[str, Any]) -> None:
    events = scene.bell.events.list()
    scene.same("events.list", before=events[1].id, limit=2)
    scene.same("schedules.list", after="nightly-1")
    lines = scene.bell.logs(things["run"].id)
    scene.same("logs", things["run"].id, after=lines[0])
