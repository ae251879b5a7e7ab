"""Cron against cronsim, around clock changes: they agree but for a named list of reasons, each with its own test.

A reason must explain a difference; a difference without one fails.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from random import Random
from typing import NamedTuple
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim

from tests.support.cron_oracle import Rule, changes, local_time, seconds_of
from tests.unit.timing.making import make_expression
from tests.unit.timing.scenes import ZONES
from workbell.errors import JobsError
from workbell.timing.cron import Cron
from workbell.timing.instants import at_second

SOAK = bool(os.environ.get("WORKBELL_SOAK"))


class Case(NamedTuple):
    expression: str
    zone: str
    after: datetime
    ours: datetime
    theirs: datetime

    @property
    def real_time(self) -> bool:
        return Rule(self.expression).real_time

    def crossed(self) -> list[int]:
        """The clock changes between the start and the later of the two answers."""
        first, last = seconds_of(self.after) - 2 * 86400, seconds_of(max(self.ours, self.theirs)) + 2 * 86400
        return [change for change in changes_of(self.zone) if first <= change <= last]


class Endless(Exception):
    """cronsim goes round and round, as it does about a change at a part of an hour."""


class BoundedCronSim(CronSim):
    steps = 0

    def tick(self, seconds: int = 1) -> None:
        self.steps += 1
        if self.steps > 100_000:
            raise Endless
        super().tick(seconds)


@lru_cache
def changes_of(zone: str) -> list[int]:
    return changes(zone, 2014, 2040)


def six_fields(case: Case) -> bool:
    """cronsim follows the wall clock with five fields only; six always follow real time there."""
    return len(case.expression.split()) == 6 and not case.real_time


def starts_in_second_pass(case: Case) -> bool:
    """From within the second pass of a repeated hour, cronsim gives a fixed time's first pass, which is over."""
    return not case.real_time and case.after.astimezone(ZoneInfo(case.zone)).fold == 1


def step_in_a_range_of_one(case: Case) -> bool:
    """cronsim reads 5-5/2 as 5/2, which runs on to the end of the field."""
    return re.search(r"(?<![0-9])([0-9]+)-\1/", case.expression) is not None


def change_off_the_hour(case: Case) -> bool:
    """cronsim steps from full hour to full hour, and misses it where the clock is set by, or at, a part of one."""
    place = ZoneInfo(case.zone)
    before = [local_time(change - 1, place) + timedelta(seconds=1) for change in case.crossed()]
    after = [local_time(change, place) for change in case.crossed()]
    return case.real_time and any(edge.minute or edge.second for edge in before + after)


def midnight_is_skipped(case: Case) -> bool:
    """cronsim starts a new day at 00:00 also where no clock shows it."""
    place = ZoneInfo(case.zone)
    for change in case.crossed():
        before, after = local_time(change - 1, place), local_time(change, place)
        midnight = after.replace(hour=0, minute=0, second=0)
        if case.real_time and before < midnight < after:
            return True
    return False


REASONS: list[Callable[[Case], bool]] = [
    six_fields,
    starts_in_second_pass,
    step_in_a_range_of_one,
    change_off_the_hour,
    midnight_is_skipped,
]


def ask_both(expression: str, zone: str, after: datetime) -> Case:
    ours = Cron(expression, zone).next(after)
    assert ours is not None
    try:
        theirs = next(BoundedCronSim(expression, after.astimezone(ZoneInfo(zone)))).astimezone(UTC)
    except Endless:
        theirs = after  # an answer that cannot be right, and needs a reason
    return Case(expression, zone, after, ours, theirs)


@pytest.mark.parametrize("zone", ZONES)
def test_only_named_reasons_tell_us_apart(zone: str) -> None:
    dice = Random(zone)
    moments = changes(zone, 2015, 2035)
    asked = 0
    while asked < (1000 if SOAK else 30):
        change = dice.choice(moments)
        shown = local_time(change - 1, ZoneInfo(zone))
        expression = make_expression(dice, special=False, near=shown.hour, day=shown.day)
        expression = f"0 {expression}" if dice.random() < 0.15 else expression
        steps = [0, -1, -60, -1800, -3600, -7200, 1, 1800, 3599, 3600, dice.randrange(-90_000, 90_000)]
        try:
            case = ask_both(expression, zone, at_second(change + dice.choice(steps)))
        except JobsError as problem:
            assert "would never fire" in str(problem)  # noqa: PT017
            continue
        asked += 1
        assert case.ours == case.theirs or any(reason(case) for reason in REASONS), case
        assert case.ours > case.after


@pytest.mark.parametrize(
    ("reason", "expression", "zone", "after", "ours", "theirs"),
    [
        (six_fields, "0 30 2 * * *", "America/New_York", "2026-03-08T06:00", "2026-03-08T07:00", "2026-03-09T06:30"),
        (
            starts_in_second_pass,
            "30 1 * * *",
            "America/New_York",
            "2026-11-01T06:15",
            "2026-11-02T06:30",
            "2026-11-01T05:30",
        ),
        (step_in_a_range_of_one, "0 0 1-1/9 * *", "UTC", "2026-11-02T00:00", "2026-12-01T00:00", "2026-11-10T00:00"),
        (
            change_off_the_hour,
            "*/15 3 * * *",
            "America/Caracas",
            "2016-05-01T06:30",
            "2016-05-01T07:00",
            "2016-05-01T07:30",
        ),
        (
            midnight_is_skipped,
            "0,30 */3 */2 * *",
            "Atlantic/Azores",
            "2035-03-25T00:59",
            "2035-03-25T03:00",
            "2035-03-25T01:00",
        ),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_each_reason_is_still_there(
    reason: Callable[[Case], bool], expression: str, zone: str, after: str, ours: str, theirs: str
) -> None:
    """If this fails, cronsim has mended something and the reason can go."""
    case = ask_both(expression, zone, datetime.fromisoformat(after).replace(tzinfo=UTC))
    assert [case.ours, case.theirs] == [datetime.fromisoformat(text).replace(tzinfo=UTC) for text in (ours, theirs)]
    assert [each for each in REASONS if each(case)] == [reason]
