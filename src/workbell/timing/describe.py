"""Cron expressions in plain words: the times of the day, the days, the months, the zone.

The description follows from the sets of values, not from the text, so that equal schedules read the same.
"""

from __future__ import annotations

import calendar
from collections.abc import Sequence
from typing import TYPE_CHECKING

from workbell.timing.days import EVERY_DAY_OF_MONTH, EVERY_WEEKDAY, MonthDays, WeekDays

if TYPE_CHECKING:
    from workbell.timing.expression import Expression

_DAYS = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday".split()
_COUNTED = "first second third fourth fifth".split()
_MOST_TIMES = 6  # beyond this a list of times reads worse than hours and minutes


def describe_cron(read: Expression, timezone: str) -> str:
    """For example: every 5 minutes, 09:00–17:59, Monday to Friday, Europe/Paris."""
    times = read.times
    clock = _clock(_values(times.hours), _values(times.minutes), _values(times.seconds))
    days = _days(read)
    if not days and clock[0].startswith("at "):
        days = ["every day"]
    return ", ".join([*clock, *days, *_months(read.months), timezone])


def _clock(hours: list[int], minutes: list[int], seconds: list[int]) -> list[str]:
    if len(hours) * len(minutes) * len(seconds) <= _MOST_TIMES:
        show = "{:02}:{:02}" if seconds == [0] else "{:02}:{:02}:{:02}"
        return ["at " + _listed([show.format(h, m, s) for h in hours for m in minutes for s in seconds])]
    if len(minutes) == len(seconds) == 1 and (step := _step(hours, 24)):
        every = "every hour" if step == 1 else f"every {step} hours"
        if minutes == seconds == [0]:
            return [every]
        second = f" and second {seconds[0]}" if seconds != [0] else ""
        return [f"{every} at minute {minutes[0]}{second}"]
    return [*_rhythm(minutes, seconds), *_hours(hours)]


def _rhythm(minutes: list[int], seconds: list[int]) -> list[str]:
    every_minute = _every(minutes, "minute")
    if seconds == [0]:
        return [every_minute or f"at {_numbered('minute', minutes)}"]
    every_second = _every(seconds, "second") or f"at {_numbered('second', seconds)}"
    if len(minutes) == 60:
        return [every_second]
    return [every_second, f"in {_numbered('minute', minutes)}"]


def _hours(hours: list[int]) -> list[str]:
    if len(hours) == 24:
        return []
    stretches = _stretches(hours, 24)
    if len(stretches) <= 2:
        return [_listed([f"{first:02}:00–{last:02}:59" for first, last in stretches])]
    return [f"in {_numbered('hour', hours)}"]


def _days(read: Expression) -> list[str]:
    any_day = read.month_days.bits == EVERY_DAY_OF_MONTH
    any_weekday = read.week_days.bits == EVERY_WEEKDAY
    if (any_day and any_weekday) or (read.either and (any_day or any_weekday)):
        return []
    by_number, by_weekday = _days_by_number(read.month_days), _days_by_weekday(read.week_days)
    if any_day:
        return [by_weekday]
    if any_weekday:
        return [f"on {by_number}"]
    if read.either:
        return [f"on {by_number} or on {by_weekday}"]
    return [f"on {by_number} if that is {by_weekday}"]


def _days_by_number(rule: MonthDays) -> str:
    said = []
    if rule.bits:
        said.append(_numbered("day", _values(rule.bits)))
    for back in rule.before_last:
        said.append("the last day" if not back else f"the {_ordinal(back)} day before the last")
    if rule.last_working:
        said.append("the last working day")
    said += [f"the working day nearest to day {day}" for day in rule.nearest]
    return f"{_listed(said)} of the month"


def _days_by_weekday(rule: WeekDays) -> str:
    said = []
    if rule.bits:
        runs = _stretches(_values(rule.bits), 7)
        said += [
            _DAYS[first] if first == last else _from_to(_DAYS, first, last, 7) for first, last in _monday_first(runs)
        ]
    monthly = [f"the {_COUNTED[which - 1]} {_DAYS[weekday]}" for which, weekday in rule.counted]
    monthly += [f"the last {_DAYS[weekday]}" for weekday in rule.last]
    if monthly:
        said.append(f"{_listed(monthly)} of the month")
    return _listed(said)


def _months(months: int) -> list[str]:
    values = _values(months)
    if len(values) == 12:
        return []
    names = list(calendar.month_name)
    runs = _stretches(values, 12, 1)
    return ["in " + _listed([names[a] if a == b else _from_to(names, a, b, 12) for a, b in runs])]


def _from_to(names: Sequence[str], first: int, last: int, size: int) -> str:
    return f"{names[first]} {'and' if (last - first) % size == 1 else 'to'} {names[last]}"


def _monday_first(runs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    return sorted(runs, key=lambda run: (run[0] - 1) % 7)


def _every(values: list[int], unit: str) -> str:
    step = _step(values, 60)
    return "" if not step else f"every {unit}" if step == 1 else f"every {step} {unit}s"


def _step(values: list[int], size: int) -> int:
    """The even rhythm of values that start at 0 and go round without a hitch; 0 if there is none."""
    if len(values) < 2 or size % len(values):
        return 0
    step = size // len(values)
    return step if values == list(range(0, size, step)) else 0


def _stretches(values: list[int], size: int, low: int = 0) -> list[tuple[int, int]]:
    """Runs of neighbours, the last and the first being neighbours too."""
    runs: list[tuple[int, int]] = []
    for value in values:
        if runs and runs[-1][1] == value - 1:
            runs[-1] = (runs[-1][0], value)
        else:
            runs.append((value, value))
    if len(runs) > 1 and runs[0][0] == low and runs[-1][1] == low + size - 1:
        runs = [*runs[1:-1], (runs[-1][0], runs[0][1])]
    return runs


def _numbered(unit: str, values: list[int]) -> str:
    runs = []
    for first, last in _plain_runs(values):
        runs += [f"{first}–{last}"] if last - first > 1 else [str(value) for value in range(first, last + 1)]
    return f"{unit}{'s' if len(values) > 1 else ''} {_listed(runs)}"


def _plain_runs(values: list[int]) -> list[tuple[int, int]]:
    return _stretches(values, len(values) + 100)  # too large to go round


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _ordinal(number: int) -> str:
    ending = "th" if number in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _values(bits: int) -> list[int]:
    return [value for value in range(bits.bit_length()) if bits >> value & 1]
