"""Previews of schedules and timings, the next ticks of all, and a run of a schedule now (F3)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import asdict

from tests.support.inside.stores import Store
from tests.support.scheduling import DECLARED, set_clock
from workbell import InvalidOption, ScheduleNotFound, Workbell, WorkbellError
from workbell.testing import ManualClock

FORWARD = "clocks go forward before this tick: 02:30 does not exist on this day, it runs at 03:00"
LOCAL = "2030-04-01T02:30:00+02:00"
HOURLY: Any = {"cron": "0 * * * *", "timezone": "UTC"}
HOUR = timedelta(hours=1)
ONE = DECLARED.replace(hour=1, minute=0, second=0)


@pytest.fixture(autouse=True)
def clock(store: Store) -> ManualClock:
    clock = ManualClock(DECLARED)
    set_clock(store, clock)
    return clock


@pytest.fixture(autouse=True)
def jobs(bell: Workbell, send: Any) -> None:
    """`send(to, copies=1)` and `tidy()`."""

    @bell.job
    def tidy() -> None: ...


def test_a_preview_in_local_time(bell: Workbell) -> None:
    """On 31 March 2030 clocks go forward in Berlin."""
    bell.schedules.put("a", job="tidy", cron="30 2 * * *", timezone="Europe/Berlin")
    found = bell.schedules.preview_local("a", 2, after=datetime(2030, 3, 30, 12, tzinfo=UTC))
    assert (found.timezone, found.local) == ("Europe/Berlin", ("2030-03-31T03:00:00+02:00", LOCAL))
    assert found.items == tuple(map(datetime.fromisoformat, found.local))
    assert found.notes == (FORWARD, None)
    with pytest.raises(InvalidOption, match="after"):
        bell.schedules.preview_local("a", after=datetime(2030, 1, 1))  # noqa: DTZ001
    for number in (0, 1001):
        with pytest.raises(InvalidOption, match=f"n: {number} is not from 1 to 1000"):
            bell.schedules.preview_local("a", number)


def test_a_timing_is_tried_out(bell: Workbell, clock: ManualClock) -> None:
    clock.advance((datetime(2030, 3, 30, 12, tzinfo=UTC) - clock.now()).total_seconds())
    bell.schedules.put("a", job="tidy", cron="30 2 * * *", timezone="Europe/Berlin")
    tried = bell.schedules.try_out(cron="30 2 * * *", timezone="Europe/Berlin", n=2)
    words = asdict(bell.schedules.preview_local("a", 2)) | {"in_words": "at 02:30, every day, Europe/Berlin"}
    assert asdict(tried) == words
    anchor = clock.now() - timedelta(minutes=50)
    hourly = bell.schedules.try_out(every=HOUR, anchor=anchor, window=("13:00", "20:00"), outside="skip", n=1)
    assert (hourly.timezone, hourly.items) == ("UTC", (clock.now() + timedelta(minutes=70),))
    assert bell.schedules.try_out(at=ONE + 9000 * HOUR).items == (ONE + 9000 * HOUR,)
    assert [one.name for one in bell.schedules.list()] == ["a"], "nothing is written"


@pytest.mark.parametrize(
    ("timing", "why"),
    [
        ({}, "nothing says when"),
        ({"cron": "* * * * *", "every": 60}, "cron and every both say when"),
        ({"cron": "61 * * * *"}, "61"),
        ({"cron": "0 5 * * *", "timezone": "Mars"}, "Mars"),
        ({"cron": "0 5 * * *", "n": 0}, "n: 0 is not from 1 to 100"),
        ({"cron": "0 5 * * *", "n": 101}, "n: 101 is not from 1 to 100"),
    ],
    ids=str,
)
def test_timings_that_cannot_be_tried(bell: Workbell, timing: Any, why: str) -> None:
    with pytest.raises(WorkbellError, match=why):
        bell.schedules.try_out(**timing)


def test_upcoming(bell: Workbell) -> None:
    put = bell.schedules.put
    put("late", job="tidy", cron="0 3 * * *", timezone="UTC")
    put("soon", job="send", input={"to": "x"}, **HOURLY)
    put("off", job="tidy", enabled=False, **HOURLY)
    put("paused", job="tidy", **HOURLY)
    bell.schedules.pause("paused")
    bell.for_tenant("other").schedules.put("theirs", job="tidy", **HOURLY)
    soon, late = bell.schedules.upcoming()
    assert asdict(soon) == {
        "schedule": "soon",
        "job": "send",
        "due": ONE,
        "timezone": "UTC",
        "in_words": "every hour, UTC",
    }
    assert (late.schedule, late.due) == ("late", ONE.replace(hour=3))
    assert bell.schedules.upcoming(1) == [soon]
    for limit in (0, 101):
        with pytest.raises(InvalidOption, match=f"limit: {limit} is not from 1 to 100"):
            bell.schedules.upcoming(limit)


def test_run_now(bell: Workbell) -> None:
    """With the input and settings of the schedule; its next tick stays."""
    settings: dict[str, Any] = {"input": {"to": "x"}, "queue": "apart", "priority": 7}
    made = bell.schedules.put("a", job="send", **settings, **HOURLY)
    run = bell.schedules.run("a")
    assert (run.job, run.input, run.queue, run.priority) == ("send", {"to": "x"}, "apart", 7)
    assert bell.get(run.id).status == "queued"
    assert bell.schedules.get("a").next_run_at == made.next_run_at == ONE
    with pytest.raises(ScheduleNotFound):
        bell.for_tenant("other").schedules.run("a")


@pytest.mark.anyio
async def test_run_now_from_async_code(bell: Workbell) -> None:
    bell.schedules.put("a", job="tidy", **HOURLY)
    run = await bell.schedules.arun("a")
    assert [one.id for one in bell.runs()] == [run.id]
