"""A cron expression read into its parts, with an error that names the field, the reason and the remedy."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple, TypeVar

from workbell.errors import JobsError
from workbell.timing.calendar_walk import CalendarWalk
from workbell.timing.days import MonthDays, WeekDays, day_table, read_month_days, read_week_days, shapes_of_month
from workbell.timing.fields import DAY_OF_MONTH, HOUR, MINUTE, MONTH, SECOND, WEEKDAY, CronField, FieldError, read_field
from workbell.timing.instants import shorten
from workbell.timing.times import Times

Read = TypeVar("Read")
LONGEST = 256
MACROS = {
    "@YEARLY": "0 0 1 1 *",
    "@ANNUALLY": "0 0 1 1 *",
    "@MONTHLY": "0 0 1 * *",
    "@WEEKLY": "0 0 * * 0",
    "@DAILY": "0 0 * * *",
    "@MIDNIGHT": "0 0 * * *",
    "@HOURLY": "0 * * * *",
}
_OTHER_MACROS = {
    "@EVERY": "write */5 * * * * for every five minutes; other intervals are every= of @bell.job, or `workbell "
    "schedules add --every 90m`",
    "@REBOOT": "enqueue the job when the application starts instead",
}
_BLANKS = re.compile(r"[ \t]+")


class Expression(NamedTuple):
    """A parsed cron expression. `real_time`: it follows elapsed time through clock changes, not the wall clock.
    `either`: a day matches by its number or by its weekday, not only by both."""

    times: Times
    month_days: MonthDays
    months: int
    week_days: WeekDays
    real_time: bool
    either: bool
    walk: CalendarWalk


def tidy(expression: str) -> str:
    """The expression with single blanks, as it is stored and shown."""
    if not isinstance(expression, str):
        raise JobsError(f"cron: expected a text, got {type(expression).__name__}; write one such as '*/5 * * * *'.")
    if len(expression) > LONGEST:
        raise _error(expression, f"{len(expression)} characters are too many; write at most {LONGEST}.")
    if not expression.isascii():
        stranger = next(character for character in expression if not character.isascii())
        raise _error(expression, f"{stranger!a} is no part of an expression; use ASCII digits, letters and signs.")
    return _BLANKS.sub(" ", expression.strip(" \t\r\n"))


@lru_cache(maxsize=2048)
def read_expression(expression: str) -> Expression:
    """Read a tidy expression; what can never fire is refused here and now."""
    text = expression.upper()
    if text.startswith("@"):
        text = _read_macro(expression, text)
    fields = text.split(" ")
    if len(fields) not in (5, 6):
        raise _error(
            expression,
            f"{len(fields) if text else 'no'} field{'s' if len(fields) != 1 or not text else ''}; "
            "write 5 (minute hour day month weekday), or 6 with the second first.",
        )
    second, minute, hour, day, month, weekday = fields if len(fields) == 6 else ["0", *fields]
    times = Times(
        _read(expression, HOUR, lambda: read_field(HOUR, hour)),
        _read(expression, MINUTE, lambda: read_field(MINUTE, minute)),
        _read(expression, SECOND, lambda: read_field(SECOND, second)),
    )
    month_days = _read(expression, DAY_OF_MONTH, lambda: read_month_days(day))
    months = _read(expression, MONTH, lambda: read_field(MONTH, month))
    week_days = _read(expression, WEEKDAY, lambda: read_week_days(weekday))
    either = not day.startswith(("*", "?")) and not weekday.startswith(("*", "?"))
    table = day_table(month_days, week_days, either)
    if not any(months >> number & 1 and table[shape] for number in range(1, 13) for shape in shapes_of_month(number)):
        raise _error(
            expression,
            f"day of month: {day} with month {month} and weekday {weekday} is never a date, so it would never fire; "
            "choose a day that exists.",
        )
    real_time = minute.startswith("*") or hour.startswith("*")
    return Expression(times, month_days, months, week_days, real_time, either, CalendarWalk(table, months, times))


def _read(expression: str, field: CronField, read: Callable[[], Read]) -> Read:
    try:
        return read()
    except FieldError as problem:
        raise _error(expression, f"{field.name}: {problem}") from None


def _read_macro(expression: str, text: str) -> str:
    known = MACROS.get(text)
    if known is None:
        word = text.split(" ")[0]
        remedy = _OTHER_MACROS.get(word, f"write one of {', '.join(MACROS).lower()}, or five fields")
        raise _error(expression, f"{shorten(word.lower())} is not a macro of cron expressions here; {remedy}.")
    return known


def _error(expression: str, reason: str) -> JobsError:
    return JobsError(f"cron {shorten(expression)}: {reason}")
