"""Day rules of cron: the day of the month and the weekday, worked out once for each shape a month can have.

A month has one of 28 shapes (its length and the weekday of its first), so 28 sets of bits answer for every month of
every year, and show at once whether an expression can fire at all.
"""

from __future__ import annotations

import calendar
import re
from functools import lru_cache
from typing import NamedTuple

from workbell.timing.fields import DAY_OF_MONTH, WEEKDAY, FieldError, read_item, read_number, read_value

EVERY_DAY_OF_MONTH = (1 << 32) - 2
EVERY_WEEKDAY = (1 << 7) - 1
_SHAPES = [(first, length) for first in range(7) for length in range(28, 32)]  # first: 0 is Sunday
_FROM_LAST = re.compile(r"L-([0-9]+)")
_NEAREST = re.compile(r"([0-9]+)W")
_LAST_WEEKDAY = re.compile(r"([0-9A-Z]+)L")
_COUNTED = re.compile(r"([0-9A-Z]+)#([0-9A-Z]+)")


class MonthDays(NamedTuple):
    """The day of the month: days by number, counted back from the last, and working days."""

    bits: int
    before_last: tuple[int, ...] = ()  # 0 is the last day itself
    nearest: tuple[int, ...] = ()  # the Monday to Friday nearest to a day
    last_working: bool = False


class WeekDays(NamedTuple):
    """The weekday: 0 is Sunday; `last` and `counted` (the k-th, weekday) are those of the month."""

    bits: int
    last: tuple[int, ...] = ()
    counted: tuple[tuple[int, int], ...] = ()


def read_month_days(text: str) -> MonthDays:
    """`L`, `LW`, `L-3`, `15W` and `?` beside what every field knows."""
    if text == "?":
        return MonthDays(EVERY_DAY_OF_MONTH)
    bits, last_working = 0, False
    before_last: set[int] = set()
    nearest: set[int] = set()
    for item in text.split(","):
        if item == "L":
            before_last.add(0)
        elif item == "LW":
            last_working = True
        elif found := _FROM_LAST.fullmatch(item):
            number = read_number(found[1])
            if number is None or not 1 <= number <= 30:
                raise FieldError(f"{item} is out of bounds; write L-1 to L-30.")
            before_last.add(number)
        elif found := _NEAREST.fullmatch(item):
            nearest.add(read_value(DAY_OF_MONTH, found[1]))
        else:
            bits |= read_item(DAY_OF_MONTH, item)
    return MonthDays(bits, tuple(sorted(before_last)), tuple(sorted(nearest)), last_working)


def read_week_days(text: str) -> WeekDays:
    """`5L`, `FRI#2` and `?` beside what every field knows."""
    if text == "?":
        return WeekDays(EVERY_WEEKDAY)
    bits = 0
    last: set[int] = set()
    counted: set[tuple[int, int]] = set()
    for item in text.split(","):
        if item == "L":
            raise FieldError(
                "L alone does not say which weekday; write SAT for every Saturday, SATL for the month's last."
            )
        if found := _LAST_WEEKDAY.fullmatch(item):
            last.add(read_value(WEEKDAY, found[1]) % 7)
        elif found := _COUNTED.fullmatch(item):
            which = read_number(found[2])
            if which is None or not 1 <= which <= 5:
                raise FieldError(f"{item}: a month has at most five of a weekday; write #1 to #5.")
            counted.add((which, read_value(WEEKDAY, found[1]) % 7))
        else:
            bits |= read_item(WEEKDAY, item)
    return WeekDays((bits | bits >> 7) & EVERY_WEEKDAY, tuple(sorted(last)), tuple(sorted(counted)))


def day_table(month_days: MonthDays, week_days: WeekDays, either: bool) -> tuple[int, ...]:
    """For each shape of a month, the days that match, as bits 1 to 31."""
    table = []
    for first, length in _SHAPES:
        by_number = _days_by_number(month_days, first, length)
        by_weekday = _days_by_weekday(week_days, first, length)
        table.append((by_number | by_weekday) if either else (by_number & by_weekday))
    return tuple(table)


@lru_cache(maxsize=4096)
def shape_of(year: int, month: int) -> int:
    """The index of a month in a day table."""
    monday_first, length = calendar.monthrange(year, month)
    return (monday_first + 1) % 7 * 4 + length - 28


def shapes_of_month(month: int) -> list[int]:
    """Every shape a month takes over the years: all seven first weekdays come up, for February in both lengths."""
    lengths = (28, 29) if month == 2 else (calendar.monthrange(2001, month)[1],)
    return [first * 4 + length - 28 for first in range(7) for length in lengths]


def _days_by_number(rule: MonthDays, first: int, length: int) -> int:
    bits = rule.bits
    for back in rule.before_last:
        if back < length:
            bits |= 1 << length - back
    for day in rule.nearest:
        if day <= length:
            bits |= 1 << _nearest_working(day, first, length)
    if rule.last_working:
        bits |= 1 << _nearest_before(length, first)
    return bits & (1 << length + 1) - 2


def _days_by_weekday(rule: WeekDays, first: int, length: int) -> int:
    bits = 0
    for weekday in range(7):
        if rule.bits >> weekday & 1:
            bits |= _WEEKLY << (weekday - first) % 7
    for weekday in rule.last:
        day = 29 + (weekday - first) % 7
        bits |= 1 << (day if day <= length else day - 7)
    for which, weekday in rule.counted:
        bits |= 1 << which * 7 - 6 + (weekday - first) % 7
    return bits & (1 << length + 1) - 2


_WEEKLY = 1 << 1 | 1 << 8 | 1 << 15 | 1 << 22 | 1 << 29


def _nearest_working(day: int, first: int, length: int) -> int:
    weekday = (first + day - 1) % 7
    if weekday == 6:
        return day - 1 if day > 1 else day + 2
    if weekday == 0:
        return day + 1 if day < length else day - 2
    return day


def _nearest_before(day: int, first: int) -> int:
    weekday = (first + day - 1) % 7
    return day - {6: 1, 0: 2}.get(weekday, 0)
