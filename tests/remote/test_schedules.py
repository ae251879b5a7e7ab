"""Schedules over HTTP: every verb gives what the Workbell itself gives."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.remote.conftest import Scene
from tests.support.inside.features import SCHEDULE_SETTINGS as NAMES
from workbell import InvalidOption, JobsError, Retry, ScheduleNotFound, UnknownJob

LATER = datetime(2100, 1, 1, tzinfo=UTC)
SETTINGS: list[dict[str, Any]] = [
    {"cron": "*/5 9-17 * * MON-FRI", "timezone": "Europe/Paris", "window": ("09:00", "12:00"), "outside": "skip"},
    {"every": timedelta(hours=6), "anchor": datetime(2026, 1, 1, tzinfo=UTC), "jitter": timedelta(minutes=1)},
    {
        "at": LATER,
        "timezone": "UTC",
        "overlap": "queue_one",
        "catch_up": "all",
        "catch_up_cap": 7,
        "queue": "q",
        "priority": 5,
        "retry": Retry(attempts=2, give_up_on=["x.Y"]),
        "timeout": timedelta(seconds=90),
        "target": "label:gpu",
        "tag": "nightly",
        "replace_tag": True,
        "user_id": "0198c2f3-5a6b-7c8d-9e0f-1a2b3c4d5e6f",
        "persistent": False,
        "auto_reschedule": timedelta(minutes=10),
        "remove_delay": 60,
        "expires": timedelta(hours=1),
        "description": "All of it.",
        "created_by": "ada",
        "enabled": False,
        "input": {"to": "ö"},
        "alert_url": "https://alerts.example.com/secret",
        "ping_url": "https://pings.example.com/secret",
    },
    {"cron": "0 3 * * *", "retry": {"max_retries": 2, "backoff_ms": 500, "backoff_type": "exponential"}},
]


def test_every_setting_is_tried_below() -> None:
    assert {word for settings in SETTINGS for word in settings} == set(NAMES)


def test_a_slash_in_a_name(scene: Scene) -> None:
    """What can be listed can be reached."""
    made = scene.client.schedules.put("reports/daily", job="send", input={"to": "x"}, every=3600)
    assert made.name == "reports/daily"
    assert scene.client.schedules.pause("reports/daily").paused
    assert scene.same("schedules.get", "reports/daily").paused
    scene.client.schedules.delete("reports/daily")
    assert "reports/daily" not in [one.name for one in scene.bell.schedules.list()]


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("ask", ["asked", "awaited"])
def test_what_is_put_is_what_the_workbell_would_have_put(scene: Scene, ask: str, settings: dict[str, Any]) -> None:
    given = {"job": "send", "input": {"to": "x"}} | settings
    made = getattr(scene, ask)("schedules.put", f"remote-{ask}", **given)
    there = scene.bell.schedules.get(f"remote-{ask}")
    assert scene.shown(made) == scene.shown(there)
    assert there.options.created_by  # by the name of the token, if nobody says otherwise
    by = {"created_by": there.options.created_by, "user_id": 7}  # the person of the token
    local = scene.bell.schedules.put(f"local-{ask}", **(by | given))
    assert there.options == local.options
    for word in ("kind", "timezone", "enabled"):
        assert getattr(there, word) == getattr(local, word)
    if "every" not in settings:
        assert there.expression == local.expression
    again = getattr(scene, ask)("schedules.put", f"remote-{ask}", **given)
    assert scene.shown(again) == scene.shown(there)  # nothing changes


CHANGES: list[dict[str, Any]] = [
    {"window": ("01:00", "05:00"), "retry": {"max_retries": 4}, "jitter": timedelta(seconds=9)},
    {"window": None, "retry": None, "tag": None, "user_id": None, "alert_url": None, "description": None},
    {"job": "fail", "input": {"reason": "x"}, "at": LATER},
    {},
]


@pytest.mark.parametrize("changes", CHANGES, ids=str)
@pytest.mark.parametrize("ask", ["asked", "awaited"])
def test_what_is_changed_is_what_the_workbell_would_have_changed(
    scene: Scene, ask: str, changes: dict[str, Any]
) -> None:
    """E1: what is not named stays, also what the API does not show; and so does who made it."""
    given = {"input": {"to": "x"}, "cron": "0 3 * * *", "timezone": "UTC", "tag": "t", "user_id": "ada", "queue": "q"}
    given |= {"alert_url": "https://alerts.example.com/secret", "created_by": "ada", "description": "D"}
    names = (f"there-{ask}", f"here-{ask}")
    for name in names:
        scene.bell.schedules.put(name, job="send", **given)
    made = getattr(scene, ask)("schedules.update", names[0], **changes)
    there, here = scene.bell.schedules.get(names[0]), scene.bell.schedules.update(names[1], **changes)
    assert scene.shown(made) == scene.shown(there)
    for word in ("job", "kind", "expression", "timezone", "options", "enabled"):
        assert getattr(there, word) == getattr(here, word)
    assert there.options.created_by == "ada"


def test_looking(scene: Scene) -> None:
    schedules = scene.bell.schedules
    schedules.put("look", job="send", input={"to": "x"}, cron="0 3 * * *", timezone="Europe/Paris")
    schedules.put("look-again", job="fail", input={"reason": "x"}, every=60)
    scene.same("schedules.get", "look")
    scene.same("schedules.list", after="look", limit=1)
    assert len(scene.same("schedules.list")) >= 2
    assert len(scene.same("schedules.preview", "look", 3, after=LATER)) == 3
    assert len(scene.same("schedules.preview", "look", after=LATER)) == 5
    assert scene.same("runs", schedule="look") == []


def test_pausing_makes_ticks_and_deleting_ends_it(scene: Scene) -> None:
    schedules = scene.bell.schedules
    for ask in (scene.asked, scene.awaited):
        schedules.put("steered", job="send", input={"to": "x"}, every=3600)
        assert ask("schedules.pause", "steered").paused
        assert scene.shown(ask("schedules.resume", "steered")) == scene.shown(schedules.get("steered"))
        scene.same("schedules.ticks", "steered")
        assert ask("schedules.delete", "steered") is None
        for verb in ("update", "get", "pause", "resume", "delete", "preview", "ticks"):
            scene.raises(ScheduleNotFound, f"schedules.{verb}", "steered")


def test_what_cannot_be_put_is_refused_in_the_same_words(scene: Scene) -> None:
    for kind, settings in (
        (JobsError, {}),
        (JobsError, {"cron": "0 3 * *"}),
        (JobsError, {"cron": "0 3 * * *", "every": 5}),
        (JobsError, {"cron": "0 3 * * *", "timezone": "Europe/Atlantis"}),
        (InvalidOption, {"at": datetime(2020, 1, 1, tzinfo=UTC)}),
    ):
        scene.raises(kind, "schedules.put", "bad", job="send", input={"to": "x"}, **settings)
    scene.raises(UnknownJob, "schedules.put", "bad", job="nobody-knows-it", every=60)
    for unknown in ({"evry": 60}, {"every": 60, "overlap": "maybe"}, {"every": 60, "priority": 1000}):
        with pytest.raises(InvalidOption):
            scene.client.schedules.put("bad", job="send", input={"to": "x"}, **unknown)  # type: ignore[arg-type]
