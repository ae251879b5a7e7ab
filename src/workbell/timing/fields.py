"""One field of a cron expression: its bounds, and how its text becomes a set of bits.

Every number is checked against the bounds before a range of it is expanded, so that no text can ask for much work.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from workbell.timing.instants import shorten

_RANGE = re.compile(r"([0-9A-Z]+)-([0-9A-Z]+)")


class FieldError(Exception):
    """Error in a cron field, with the remedy."""


class CronField(NamedTuple):
    """The bounds of a field; `wraps` where a range may run over the end (22-6, FRI-MON)."""

    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()
    wraps: bool = True

    @property
    def bounds(self) -> str:
        named = f" or {self.names[0]} to {self.names[-1]}" if self.names else ""
        return f"{self.low} to {self.high}{named}"


MONTH_NAMES = tuple("JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split())
DAY_NAMES = tuple("SUN MON TUE WED THU FRI SAT".split())
SECOND = CronField("second", 0, 59)
MINUTE = CronField("minute", 0, 59)
HOUR = CronField("hour", 0, 23)
DAY_OF_MONTH = CronField("day of month", 1, 31, wraps=False)  # months differ in length
MONTH = CronField("month", 1, 12, MONTH_NAMES)
WEEKDAY = CronField("weekday", 0, 7, DAY_NAMES)  # 0 and 7 are both Sunday


def read_field(field: CronField, text: str) -> int:
    """The values of a field without `L`, `W`, `#`, as bits."""
    bits = 0
    for item in text.split(","):
        bits |= read_item(field, item)
    return bits


def read_item(field: CronField, item: str) -> int:
    """One member of a list: `*`, `a`, `a-b`, each with or without `/n`."""
    span, slash, step_text = item.partition("/")
    step = _read_step(field, step_text) if slash else 1
    if span == "*":
        return _spread(range(field.low, field.high + 1, step))
    found = _RANGE.fullmatch(span)
    if not found:
        value = read_value(field, span)
        return _spread(range(value, field.high + 1, step)) if slash else 1 << value
    first, last = read_value(field, found[1]), read_value(field, found[2])
    if first <= last:
        return _spread(range(first, last + 1, step))
    if not field.wraps:
        raise FieldError(f"the range {span} runs backwards; write {first}-{field.high},{field.low}-{last}.")
    size = 7 if field is WEEKDAY else field.high - field.low + 1
    return _spread(field.low + (value - field.low) % size for value in range(first, last + size + 1, step))


def read_value(field: CronField, text: str) -> int:
    """A number or a name within the bounds."""
    if text in field.names:
        return field.names.index(text) + (field.low if field is MONTH else 0)
    if not text:
        raise FieldError(f"a value is missing; write a number from {field.bounds}.")
    value = read_number(text)
    if value is None:
        raise FieldError(
            f"{shorten(text)} is not understood; write a number from {field.bounds}, a range a-b, a step or a list."
        )
    if not field.low <= value <= field.high:
        raise FieldError(f"{shorten(text)} is out of bounds; write a number from {field.bounds}.")
    return value


def read_number(text: str) -> int | None:
    """ASCII digits only; the text is short, because the whole expression is."""
    return int(text) if text.isascii() and text.isdigit() else None


def _read_step(field: CronField, text: str) -> int:
    size = 7 if field is WEEKDAY else field.high - field.low + 1
    step = read_number(text)
    if step is None or not 1 <= step <= size:
        raise FieldError(
            f"{shorten(text)} is not a step from 1 to {size}; write one, or use an interval for a longer rhythm."
        )
    return step


def _spread(values: Iterable[int]) -> int:
    bits = 0
    for value in values:
        bits |= 1 << value
    return bits
