"""Schedules on the wire: all that is shown arrives as the same schedule."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from workbell.model.retry import Retry
from workbell.model.schedule import CatchUp, FireStatus, Overlap, Schedule, ScheduleKind, ScheduleOptions
from workbell.wire.schedules import ScheduleShown

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)
PLAIN = Schedule(
    id="s",
    name="nightly",
    job="send",
    kind=ScheduleKind.CRON,
    expression="0 3 * * *",
    timezone="Europe/Paris",
    options=ScheduleOptions(input="{}"),
    created_at=NOW,
    updated_at=NOW,
)
OPTIONS = ScheduleOptions(
    queue="mail",
    priority=5,
    retry=Retry(attempts=3, delay=0.5, factor=1, cap=86_400, jitter=0),
    user_id="ada",
    persistent=False,
    input='{"to":"ä"}',
    window=("02:00", "06:00"),
    overlap=Overlap.ALLOW,
    catch_up=CatchUp.ALL,
    description="d",
)
FULL = msgspec.structs.replace(
    PLAIN,
    tenant="a",
    options=OPTIONS,
    source="api",
    paused=True,
    reason="holiday",
    next_run_at=NOW + timedelta(days=1),
    last_scheduled_at=NOW,
    last_run_at=NOW,
    last_run_id="r",
    last_fire_status=FireStatus.FIRED,
    last_fire_at=NOW,
    run_count=7,
    failed_runs=2,
    last_run_status="failed",
    last_run_ended_at=NOW,
)


def received(shown: ScheduleShown) -> ScheduleShown:
    return msgspec.json.decode(msgspec.json.encode(shown), type=ScheduleShown)


@pytest.mark.parametrize("schedule", [PLAIN, FULL])
def test_it_arrives_as_it_is(schedule: Schedule) -> None:
    shown = ScheduleShown.of(schedule, "at 03:00")
    assert received(shown).value() == schedule
    assert ScheduleShown.of(received(shown).value(), "at 03:00") == shown


def test_as_dict_has_the_same_fields_and_values() -> None:
    sent = msgspec.json.decode(msgspec.json.encode(ScheduleShown.of(FULL, "at 03:00")))
    told = msgspec.json.decode(msgspec.json.encode(FULL.as_dict()))
    assert {*sent} - {*told} == {"in_words"}
    assert {*told} <= {*sent}
    retry = told.pop("retry")
    assert told == {name: sent[name] for name in told}
    assert {name: sent["retry"][name] for name in retry} == retry
    assert sent["input"] == {"to": "ä"}
    assert sent["retry_policy"] == {"max_retries": 2, "backoff_ms": 500, "backoff_type": "fixed"}
    assert {*ScheduleOptions.__struct_fields__} <= {*sent}


@pytest.mark.parametrize("ended", [True, False])
def test_the_newer_status_stays_the_newer_one(ended: bool) -> None:
    fired = NOW - timedelta(hours=1) if ended else NOW + timedelta(hours=1)
    schedule = msgspec.structs.replace(FULL, last_fire_at=fired)
    assert schedule.last_status == ("failed" if ended else "fired")
    assert received(ScheduleShown.of(schedule, "")).value().last_status == schedule.last_status


def test_urls_are_shown_in_part() -> None:
    options = msgspec.structs.replace(OPTIONS, alert_url="https://hooks.example.com/secret", ping_url=None)
    shown = ScheduleShown.of(msgspec.structs.replace(FULL, options=options), "")
    assert (shown.alert_url, shown.ping_url) == ("https://hooks.example.com/…", None)


def test_fields_of_a_newer_server_are_ignored() -> None:
    sent = msgspec.json.decode(msgspec.json.encode(ScheduleShown.of(PLAIN, ""))) | {"newer": 1}
    assert msgspec.json.decode(msgspec.json.encode(sent), type=ScheduleShown).value() == PLAIN
