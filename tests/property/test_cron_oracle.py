"""Cron against a brute-force walk through every kind of clock change (A4, B6, F3).

WORKBELL_SOAK=1: 500 expressions at every change of every zone from 2015 to 2035.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from random import Random

import pytest

from tests.support.cron_oracle import Rule, Scene, changes, local_time
from tests.unit.timing.making import make_expression
from tests.unit.timing.scenes import HISTORY, SECONDS, ZONES
from workbell.errors import JobsError
from workbell.timing.cron import Cron
from workbell.timing.instants import at_second

SOAK = bool(os.environ.get("WORKBELL_SOAK"))
EXPRESSIONS = 500 if SOAK else 30


def judge(scene: Scene, zone: str, expressions: int, seed: str) -> int:
    """How many expressions agreed with the walk in all they were asked."""
    dice = Random(seed)
    change = local_time(scene.middle - 1, scene.zone)
    agreed = 0
    while agreed < expressions:
        expression = make_expression(dice, near=change.hour, day=change.day)
        try:
            cron = Cron(expression, zone)
        except JobsError as problem:
            assert "would never fire" in str(problem)  # noqa: PT017
            continue
        expected = scene.ticks(Rule(expression))
        near = [scene.middle + step for step in (-7199, -3600, -1801, -60, -1, 0, 1, 1800, 3599, 3600, 5400, 7199)]
        anywhere = [dice.randrange(scene.begin, scene.end) for _ in range(4)]
        ticks = [dice.choice(expected)] if expected else []
        for second in near + anywhere + ticks:
            compare(cron, expected, scene, second)
        agreed += 1
    return agreed


def compare(cron: Cron, expected: list[int], scene: Scene, second: int) -> None:
    where = f"{cron!r} at {at_second(second)}"
    instant, place = at_second(second), bisect_right(expected, second)
    following, latest = cron.next(instant), cron.latest(instant)
    if place < len(expected):
        assert following == at_second(expected[place]), f"next of {where}"
    else:
        assert following is None or following >= at_second(scene.end), f"next of {where}"
    if place:
        assert latest == at_second(expected[place - 1]), f"latest of {where}"
    else:
        assert latest is None or latest < at_second(scene.begin), f"latest of {where}"
    assert cron.count(at_second(scene.begin - 1), instant) == place, f"count until {where}"
    assert cron.count(instant, at_second(scene.end - 1)) == len(expected) - place, f"count from {where}"


@pytest.mark.timeout(3600 if SOAK else 120)
@pytest.mark.parametrize("zone", ZONES)
def test_changes_of_these_years(zone: str) -> None:
    moments = changes(zone, 2015, 2035)
    if not SOAK:
        moments = Random(zone).sample(moments, 1)
    for moment in moments:
        assert judge(Scene(zone, moment), zone, EXPRESSIONS, f"{zone} {moment}") == EXPRESSIONS


@pytest.mark.parametrize(("zone", "year", "oddity"), HISTORY)
def test_odd_changes_of_the_past(zone: str, year: int, oddity: str) -> None:
    moments = changes(zone, year, year)
    assert moments, oddity
    for moment in moments if SOAK else moments[-1:]:
        assert judge(Scene(zone, moment), zone, EXPRESSIONS, f"{zone} {moment}") == EXPRESSIONS


@pytest.mark.parametrize(("zone", "year"), SECONDS)
def test_offsets_with_seconds(zone: str, year: int) -> None:
    moments = changes(zone, year, year)
    assert moments
    for moment in moments:
        scene = Scene(zone, moment, hours=2, grain=1)
        assert judge(scene, zone, EXPRESSIONS, f"{zone} {moment}") == EXPRESSIONS


def test_every_tick_of_a_month_with_a_change_in_turn() -> None:
    dice = Random(4)
    for zone in ("Europe/Paris", "Australia/Lord_Howe", "America/Asuncion"):
        moment = changes(zone, 2023, 2023)[0]
        scene = Scene(zone, moment, hours=36)
        for _ in range(10):
            cron = Cron(make_expression(dice, special=False, near=2, day=1), zone)
            expected = [at_second(tick) for tick in scene.ticks(Rule(cron.expression))]
            assert cron.ticks(at_second(scene.begin - 1), len(expected)) == expected
