"""How much work a question may make, and where the calendar ends."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from random import Random

import pytest

from tests.unit.timing.making import make_expression
from workbell.errors import JobsError
from workbell.timing import cron as cron_module
from workbell.timing.calendar_walk import CalendarWalk
from workbell.timing.cron import Cron
from workbell.timing.expression import read_expression
from workbell.timing.interval import Interval
from workbell.timing.offsets import Offsets, Stretch
from workbell.timing.once import Once
from workbell.timing.timing import Timing
from workbell.timing.zones import resolve_timezone

RARE = [
    "0 0 29 2 *",
    "0 0 29 2 ?",
    "0 0 ? 2 5#5",
    "* * */28 2 3",
    "0 0 29W 2 *",
    "0 0 L-28 2 *",
    "0 0 ? 2 0#5,1#5",
    "*/7 1 */14 2 SAT#5",
]

START = datetime(2026, 1, 1, tzinfo=UTC)


class CountingTable(tuple[int, ...]):
    looks = 0

    def __getitem__(self, place):  # type: ignore[no-untyped-def, override]
        CountingTable.looks += 1
        return super().__getitem__(place)


class CountingOffsets(Offsets):
    looks = 0

    def at(self, second: int) -> Stretch:
        CountingOffsets.looks += 1
        return super().at(second)


def counted(expression: str, zone: str) -> Cron:
    cron = Cron(expression, zone)
    walk = cron._walk
    cron._walk = CalendarWalk(CountingTable(walk._table), walk._months, walk._times)
    cron._offsets = CountingOffsets(resolve_timezone(zone))
    return cron


@pytest.mark.parametrize("zone", ["UTC", "Europe/Paris", "Pacific/Apia"])
def test_no_expression_asks_for_much_work(zone: str) -> None:
    """The rarest dates are 40 years apart; only months of the expression and few clock changes are looked at."""
    dice = Random(7)
    expressions = RARE + [make_expression(dice) for _ in range(200)]
    worst = 0
    for expression in expressions:
        try:
            cron = counted(expression, zone)
        except JobsError:
            continue
        for year in (1896, 2011, 2026, 2096, 2399):
            instant = datetime(year, 1 + dice.randrange(12), 1 + dice.randrange(28), tzinfo=UTC)
            for ask in (cron.next, cron.latest):
                CountingTable.looks = CountingOffsets.looks = 0
                assert ask(instant) is not None
                worst = max(worst, CountingTable.looks)
                assert CountingTable.looks <= 100, expression
                assert CountingOffsets.looks <= 12, expression
    assert worst >= 9  # the rare ones were there


def test_a_month_of_seconds_is_counted_without_a_walk() -> None:
    cron = counted("* * * * * *", "Europe/Paris")
    CountingTable.looks = CountingOffsets.looks = 0
    start = datetime(2026, 3, 1, tzinfo=UTC)
    assert cron.count(start, start + timedelta(days=31)) == 31 * 86_400
    assert CountingTable.looks + CountingOffsets.looks <= 30


def test_reading_is_done_once() -> None:
    assert read_expression("1 2 3 4 5") is read_expression("1 2 3 4 5")
    assert cron_module.offsets_of("Europe/Paris") is cron_module.offsets_of("Europe/Paris")


@pytest.mark.parametrize("expression", ["* * * * *", "0 3 * * *", "0 0 29 2 1#5", "*/5 * 31 12 *", "* * * * * *"])
@pytest.mark.parametrize("zone", ["UTC", "Europe/Paris", "Pacific/Kiritimati", "Etc/GMT+12", "Asia/Tokyo"])
def test_the_calendar_ends_without_an_error(expression: str, zone: str) -> None:
    try:
        cron = Cron(expression, zone)
    except JobsError:
        cron = Cron("0 0 29 2 *", zone)
    end, begin = datetime.max.replace(tzinfo=UTC), datetime.min.replace(tzinfo=UTC)
    for offset in (UTC, timezone(timedelta(hours=14)), timezone(timedelta(hours=-14))):
        assert cron.next(end.replace(tzinfo=offset)) is None
        assert cron.latest(begin.replace(tzinfo=offset)) is None
    last, first = cron.latest(end), cron.next(begin)
    assert last is not None
    assert first is not None
    assert cron.next(last) is None
    assert cron.latest(first - timedelta(microseconds=1)) is None
    assert last.year in range(9990, 9999)
    assert cron.ticks(last - timedelta(seconds=1), 5) == [last]
    assert cron.ticks(last, 0) == cron.ticks(last, -1) == []


def test_a_long_time_is_counted_in_whole_days() -> None:
    start, end = datetime(2, 1, 1, tzinfo=UTC), datetime(9998, 12, 31, tzinfo=UTC)
    assert Cron("0 12 * * *").count(start, end) == (end - start).days


def test_an_interval_ends_with_the_calendar_too() -> None:
    interval = Interval(timedelta(days=30_000), datetime(9000, 1, 1, tzinfo=UTC))
    end = datetime.max.replace(tzinfo=UTC)
    last = interval.latest(end)
    assert last is not None
    assert interval.next(last) is None
    assert interval.count(datetime.min.replace(tzinfo=UTC), end) == 13


@pytest.mark.parametrize("timing", [Cron("* * * * *"), Interval(timedelta(seconds=5), START), Once(START)], ids=str)
def test_a_time_without_a_zone_is_refused(timing: Timing) -> None:
    naive = datetime(2026, 1, 1)  # noqa: DTZ001
    for ask in (timing.next, timing.latest, lambda instant: timing.count(START, instant)):
        with pytest.raises(JobsError, match=r"has no time zone; say which"):
            ask(naive)
        with pytest.raises(JobsError, match="expected a datetime"):
            ask("2026-01-01")  # type: ignore[arg-type]


def test_the_last_day_has_the_new_year_of_zones_that_are_ahead() -> None:
    """There it is the year 9999 already."""
    new_year = Cron("0 0 1 1 *", "Asia/Tokyo").next(datetime(9998, 6, 1, tzinfo=UTC))
    assert new_year == datetime(9998, 12, 31, 15, tzinfo=UTC)
