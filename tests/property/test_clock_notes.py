"""What a preview says of clock changes, against a walk through every minute around them (A4, B6)."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from random import Random
from zoneinfo import ZoneInfo

import pytest

from tests.support.cron_oracle import Rule as Walked
from tests.support.cron_oracle import Scene, changes, local_time
from tests.unit.timing.making import make_expression
from workbell.errors import JobsError
from workbell.model.run import Outside
from workbell.scheduling.clock_notes import clock_notes
from workbell.scheduling.rule import ScheduleRule, read_rule
from workbell.timing.instants import at_second

ZONES = "Europe/Berlin America/New_York Australia/Lord_Howe America/Havana Asia/Tokyo".split()
EXPRESSIONS = 10


def rule(cron: str, zone: str, window: tuple[str, str] | None = None, outside: Outside = Outside.DEFER) -> ScheduleRule:
    return read_rule("cron", cron, zone, window, outside)


def kind_of(note: str | None) -> str:
    return "" if note is None else re.split(r"[:+-]| before", note)[0]


def expected(scene: Scene, walked: Walked, ticks: list[int]) -> list[str]:
    """What must be said of ticks, as the walk over every minute has it."""
    made_up_for = {
        at
        for day, hour, minute, _, at, in_gap in scene.wall
        if in_gap and not walked.real_time and hour in walked.hours and minute in walked.minutes and walked.has_day(day)
    }
    said, offset = [], at_second(scene.begin).astimezone(scene.zone).utcoffset()
    for tick in ticks:
        here = at_second(tick).astimezone(scene.zone)
        if tick in made_up_for:
            said.append("clocks go forward")
        elif here.fold or here.utcoffset() != here.replace(fold=1).utcoffset():
            said.append("clocks go back")
        else:
            said.append("from here on UTC" if here.utcoffset() != offset else "")
        offset = here.utcoffset()
    return said


@pytest.mark.parametrize("zone", ZONES)
def test_every_note_is_what_a_walk_over_every_minute_says(zone: str) -> None:
    said = set()
    for change in changes(zone, 2027, 2027) or [1_790_000_000]:
        scene = Scene(zone, change)
        shown = local_time(change - 1, scene.zone)
        dice, agreed = Random(f"{zone} {change}"), 0
        fixed = ["30 2 * * *", "*/30 * * * *", "0,15 1-3 * * *", "0 3 * * *", "15 0 * * *"]
        while agreed < EXPRESSIONS:
            text = fixed.pop() if fixed else make_expression(dice, near=shown.hour, day=shown.day)
            walked = Walked(text)
            try:
                read = rule(text, zone)
            except JobsError:
                continue
            ticks = scene.ticks(walked)
            notes = clock_notes(read, [at_second(tick) for tick in ticks], zone, at_second(scene.begin))
            kinds = [kind_of(note) for note in notes]
            assert kinds == expected(scene, walked, ticks), text
            said |= set(kinds)
            agreed += 1
    usual = {"", "from here on UTC", "clocks go forward", "clocks go back"}
    assert said == ({""} if zone == "Asia/Tokyo" else usual)


def notes(cron: str, zone: str, since: str, n: int = 3, **more: object) -> list[str | None]:
    after = datetime.fromisoformat(since).replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
    read = rule(cron, zone, **more)  # type: ignore[arg-type]
    ticks = [at for at, _ in zip(read.runs(after), range(n), strict=False)]
    return clock_notes(read, ticks, zone, after)


def test_notes_in_full() -> None:
    assert notes("30 2 * * *", "Europe/Berlin", "2027-03-26 12:00") == [
        None,
        "clocks go forward before this tick: 02:30 does not exist on this day, it runs at 03:00",
        None,
    ]
    assert notes("30 2 * * *", "Europe/Berlin", "2026-10-24 12:00", 2) == [
        "clocks go back: 02:30 comes twice, it runs the first time only",
        "from here on UTC+01:00",
    ]
    assert notes("*/30 2 * * *", "Europe/Berlin", "2026-10-24 12:00", 4) == [
        "clocks go back: 02:00 comes twice, and it runs both times; this is the first",
        "clocks go back: 02:30 comes twice, and it runs both times; this is the first",
        "clocks go back: 02:00 comes twice, and it runs both times; this is the second",
        "clocks go back: 02:30 comes twice, and it runs both times; this is the second",
    ]
    assert notes("0,15,30 2 * * *", "America/New_York", "2027-03-13 12:00", 1) == [
        "clocks go forward before this tick: 02:00 to 02:30 do not exist on this day, it runs at 03:00"
    ]
    assert notes("30 5 2 * * *", "Australia/Lord_Howe", "2026-10-03 12:00", 1) == [
        "clocks go forward before this tick: 02:05:30 does not exist on this day, it runs at 02:30"
    ]
    assert notes("0 12 * * *", "Pacific/Apia", "2011-12-29 13:00", 2) == [
        "clocks go forward before this tick: 2011-12-30 12:00 does not exist, it runs at 00:00",
        None,
    ]
    assert notes("0 4 * * *", "America/St_Johns", "2026-10-31 12:00", 1) == ["from here on UTC-03:30"]


def test_a_run_that_waits_for_its_window_is_no_time_of_the_text() -> None:
    window = ("02:30", "06:00")
    assert notes("0 1 * * *", "Europe/Berlin", "2026-10-24 12:00", 2, window=window) == [None, "from here on UTC+01:00"]


def test_an_interval_names_no_time_of_day() -> None:
    read = read_rule("interval", "30m from 2026-10-24T20:00:00Z", "Europe/Berlin", None, Outside.DEFER)
    start = datetime(2026, 10, 25, 0, tzinfo=UTC)
    ticks = [start + timedelta(minutes=30 * number) for number in range(4)]
    assert clock_notes(read, ticks, "Europe/Berlin", start) == [None, None, "from here on UTC+01:00", None]
