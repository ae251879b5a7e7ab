"""Kumofire's rows as ours, by property: each is taken over whole, or left out with a reason; never anything between."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbell.model.ids import id_of, is_id
from workbell.model.run import Status
from workbell.stores.kumofire.mapping import FOREVER, CannotTake, Into, take_job, take_run, take_schedule
from workbell.stores.kumofire.tables import KumofireJob, KumofireRun, KumofireSchedule, write_time
from workbell.timing import read_timing

NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)
INTO = Into("default", NOW)

times = st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)).map(write_time)  # noqa: DTZ001
texts = st.text(max_size=20)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
payloads = values.map(json.dumps) | texts | st.none()
expressions = (
    st.sampled_from(["* * * * *", "0 5 * * *", "61 * * * *", "5m", "1h30m", "2030-01-01T00:00:00Z", ""]) | texts
)


def rows_of(kind: type[Any], **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.builds(kind, **fields)


runs = rows_of(
    KumofireRun,
    id=st.uuids(version=4).map(str) | st.uuids().map(lambda one: str(one).upper()) | texts,
    job_name=st.sampled_from(["mail", "clean-history"]) | texts,
    status=st.sampled_from([*Status, "other"]),
    dedupe_key=st.none() | texts,
    payload=payloads,
    attempt=st.integers(0, 5),
    max_attempts=st.none() | st.integers(-1, 9),
    next_run_at=st.none() | times | texts,
    created_at=times,
    updated_at=st.none() | times,
    started_at=st.none() | times,
    finished_at=st.none() | times,
    last_error=st.none() | texts,
    job_schedule_id=st.none() | texts,
    lease_until=st.none() | times,
)
schedules = rows_of(
    KumofireSchedule,
    id=st.uuids(version=4).map(str),
    job_name=st.just("mail"),
    schedule_type=st.sampled_from(["cron", "interval", "once", "lunar"]),
    schedule_expr=expressions,
    timezone=st.none() | st.sampled_from(["UTC", "Asia/Tokyo", "Mars/Olympus"]),
    next_run_at=st.none() | times,
    last_scheduled_at=st.none() | times,
    enabled=st.integers(0, 1),
    payload=payloads,
    max_attempts=st.none() | st.integers(-1, 9),
    created_at=times,
    updated_at=st.none() | times,
    schedule_key=st.none() | texts,
)


@given(runs)
def test_runs(row: KumofireRun) -> None:
    try:
        run, notes, lost, key = take_run(row, INTO)
    except CannotTake:
        return
    assert run.id == id_of(row.id)
    assert run.imported_id == (None if is_id(row.id.lower()) else row.id)
    assert run.failures == row.attempt <= run.attempt <= row.attempt + 1
    assert run.status == ("queued" if row.status == "running" else row.status)
    assert (lost is not None) == (row.status == "running") == bool(run.losses)
    assert run.status.final == (run.finished_at is not None) == (run.remove_at is not None)
    assert run.lease_until is None
    assert run.retry.attempts >= 1
    value = None if row.payload is None else json.loads(row.payload)
    assert run.input == (value if isinstance(value, dict) else {} if value is None else {"payload": value})
    assert key == run.key_text
    if key is None:
        assert row.dedupe_key is None or any("no key here" in note for note in notes)
    else:
        assert key == row.dedupe_key == run.key
    assert run.error is None or "\x00" not in run.error


@given(schedules)
def test_schedules(row: KumofireSchedule) -> None:
    try:
        schedule, notes = take_schedule(row, INTO)
    except CannotTake:
        return
    assert schedule.name == (row.schedule_key or row.id)
    if not schedule.enabled:
        assert (schedule.look_at, schedule.next_run_at) == (None, None)
        assert schedule.reason
        return
    timing = read_timing(schedule.kind.value, schedule.expression, schedule.timezone)
    assert schedule.last_scheduled_at is not None
    if row.next_run_at is None:
        assert schedule.next_run_at == timing.next(NOW)
        return
    assert write_time(schedule.next_run_at or NOW) == row.next_run_at
    assert schedule.look_at == schedule.next_run_at
    assert (timing.next(schedule.last_scheduled_at) == schedule.next_run_at) != any(
        "is no tick" in one for one in notes
    )


@given(
    kind=st.sampled_from([("cron", "* * * * *"), ("cron", "0 * * * *"), ("interval", "5m"), ("interval", "1h30m")]),
    due=st.datetimes(datetime(1970, 1, 2), datetime(2100, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
    zone=st.sampled_from([None, "UTC", "Asia/Tokyo"]),
)
def test_the_tick_that_it_waits_for_comes_next(kind: tuple[str, str], due: datetime, zone: str | None) -> None:
    """And none before it, however long ago it was due."""
    due = due.replace(minute=0, second=0, microsecond=0)
    at = write_time(due)
    row = KumofireSchedule("x", "mail", *kind, zone, at, None, 1, "{}", 3, at, at, "name")
    schedule, notes = take_schedule(row, INTO)
    timing = read_timing(schedule.kind.value, schedule.expression, schedule.timezone)
    assert schedule.last_scheduled_at is not None
    assert (notes, timing.next(schedule.last_scheduled_at), schedule.look_at) == ([], due, due)


@given(name=texts, handler=st.none() | texts, template=payloads, options=payloads)
def test_definitions(name: str, handler: str | None, template: str | None, options: str | None) -> None:
    at = write_time(NOW)
    with suppress(CannotTake):
        job, _ = take_job(KumofireJob("x", name, handler, template, options, at, None), INTO)
        assert job.input_text is None or isinstance(json.loads(job.input_text), dict)
        assert is_id(job.id)


@pytest.mark.parametrize(
    ("options", "attempts", "notes"),
    [
        (None, None, []),
        ({}, None, []),
        ({"maxAttempts": 7}, 7, []),
        ({"maxAttempts": 0}, None, ["its maxAttempts 0 cannot be used, and is left out"]),
        ({"maxAttempts": 2, "lane": "x"}, 2, ["of its default_options lane is left out"]),
        ([], None, ["its default_options are no object, and are left out"]),
    ],
)
def test_default_options(options: Any, attempts: int | None, notes: list[str]) -> None:
    text = None if options is None else json.dumps(options)
    job, found = take_job(KumofireJob("x", "mail", "mail", None, text, write_time(NOW), None), INTO)
    assert (None if job.retry is None else job.retry.attempts, found) == (attempts, notes)


def test_for_ever_can_be_shown_in_every_zone() -> None:
    assert (FOREVER + timedelta(hours=15)).year == FOREVER.year


@pytest.mark.parametrize("status", ["scheduled", "queued", "running"])
def test_a_run_that_was_locked_since_the_import_began_is_left_out(status: str) -> None:
    """A consumer that was started meanwhile works on it; an old lock, or that of one that has ended, says nothing."""

    def row(status: str, until: timedelta) -> KumofireRun:
        at = write_time(NOW - timedelta(hours=1))
        return KumofireRun(
            id="7b0f4a52-3c8e-4f5e-9c39-1f1f3a6b2c10",
            job_name="mail",
            status=status,
            dedupe_key=None,
            payload=None,
            attempt=0,
            max_attempts=3,
            next_run_at=at,
            created_at=at,
            updated_at=None,
            started_at=None,
            finished_at=None,
            last_error=None,
            job_schedule_id=None,
            lease_until=write_time(NOW + until),
        )

    with pytest.raises(CannotTake, match="a consumer of Kumofire has locked it"):
        take_run(row(status, timedelta(seconds=30)), INTO)
    assert take_run(row(status, timedelta(seconds=-1)), INTO).run.status in (Status.QUEUED, Status.SCHEDULED)
    assert take_run(row("succeeded", timedelta(seconds=30)), INTO).run.status is Status.SUCCEEDED
