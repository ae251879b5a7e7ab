"""Windows, and ticks in them, against a walk through every minute about clock changes (E2)."""

from __future__ import annotations

import os
from datetime import UTC, datetime, time, timedelta
from random import Random
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cron_oracle import changes, local_time
from tests.unit.timing.making import make_expression
from tests.unit.timing.scenes import ZONES
from workbell.errors import JobsError
from workbell.timing.cron import Cron
from workbell.timing.instants import at_second
from workbell.timing.interval import Interval
from workbell.timing.timing import Timing
from workbell.timing.window import Window, find_next_inside

SOAK = bool(os.environ.get("WORKBELL_SOAK"))

plain = datetime.fromisoformat
instants = st.datetimes(plain("1990-01-01"), plain("2090-01-01"), timezones=st.just(UTC))
SCENES = [*((zone, 2015, 2035) for zone in ZONES), ("Pacific/Apia", 2011, 2011), ("Pacific/Kwajalein", 1969, 1993)]


def minutes_of(window: Window) -> set[int]:
    """The minutes of the day in the window, by walking a clock from its start to its end."""
    minute, end = window.start.hour * 60 + window.start.minute, window.end.hour * 60 + window.end.minute
    found = set()
    while minute != end:
        found.add(minute)
        minute = (minute + 1) % 1440
    return found


def some_window(dice: Random, shown: datetime, zone: str) -> Window:
    """A window that begins or ends near what the clock shows."""
    start = shown + timedelta(minutes=dice.choice([-90, -60, -30, 0, 30, 60, dice.randrange(1440)]))
    end = shown + timedelta(minutes=dice.choice([-121, -45, 15, 45, 119, dice.randrange(1, 1440)]))
    if start.time() == end.time():
        end += timedelta(minutes=5)
    return Window(start.time(), end.time(), zone)


@pytest.mark.parametrize(("zone", "first", "last"), SCENES)
def test_every_minute_about_a_change(zone: str, first: int, last: int) -> None:
    dice, place = Random(zone), ZoneInfo(zone)
    change = dice.choice(changes(zone, first, last))
    minutes = range(change - 26 * 3600, change + 50 * 3600, 60)
    shown = [local_time(minute, place) for minute in minutes]
    for _ in range(20 if SOAK else 1):
        window = some_window(dice, local_time(change - 60, place) + timedelta(minutes=1), zone)
        wanted = minutes_of(window)
        following: int | None = None
        for minute, clock in zip(reversed(minutes), reversed(shown), strict=True):
            if clock.hour * 60 + clock.minute in wanted:
                following = minute
            assert window.contains(at_second(minute)) == (following == minute)
            if following is not None and (following == minute or dice.random() < 0.1):
                assert window.next_start(at_second(minute)) == at_second(following)


def timings(seed: int, zone: str) -> Timing:
    dice = Random(seed)
    if seed % 3 == 0:
        return Interval(timedelta(minutes=dice.randrange(1, 3000)), datetime(2025, 1, 1, tzinfo=UTC))
    while True:
        try:
            return Cron(make_expression(dice), zone)
        except JobsError:
            continue


@given(st.integers(0, 10**6), st.sampled_from(ZONES), instants)
def test_the_next_tick_inside_is_found_as_by_a_walk(seed: int, zone: str, after: datetime) -> None:
    timing = timings(seed, zone)
    window = some_window(Random(seed), datetime(2026, 1, 1, seed % 24, tzinfo=UTC), zone)
    found = find_next_inside(timing, window, after)
    tick = timing.next(after)
    for _ in range(300):
        if tick is None or window.contains(tick):
            break
        tick = timing.next(tick)
    if tick is not None and window.contains(tick):
        assert found == tick
    else:
        assert found is None or (tick is not None and found > tick and window.contains(found))


@given(st.times(), st.times(), st.sampled_from(ZONES), instants)
def test_the_next_start_lies_inside_and_nothing_before_it_does(
    start: time, end: time, zone: str, after: datetime
) -> None:
    if start == end:
        return
    window = Window(start, end, zone)
    opening = window.next_start(after)
    assert after <= opening <= after + timedelta(days=3)
    assert window.contains(opening)
    assert opening == after or not window.contains(opening - timedelta(microseconds=1))
