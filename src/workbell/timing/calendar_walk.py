"""Calendar walk: the matching local times of a cron expression, first after, last before, and how many between.

Local times are seconds since 1970 as a clock on the wall would count them.
"""

from __future__ import annotations

from datetime import date

from workbell.timing.days import shape_of
from workbell.timing.instants import DAY
from workbell.timing.times import Times

_EPOCH = date(1970, 1, 1).toordinal()


class CalendarWalk:
    """The days of a day table in some months, at the times of a day."""

    __slots__ = ("_first_month", "_last_month", "_months", "_table", "_times")

    def __init__(self, table: tuple[int, ...], months: int, times: Times) -> None:
        self._table, self._months, self._times = table, months, times
        self._first_month = (months & -months).bit_length() - 1
        self._last_month = months.bit_length() - 1

    def at_or_after(self, local: int) -> int | None:
        """The first match that is not before a local second; None beyond the year 9999."""
        day, second_of_day = divmod(local, DAY)
        today = date.fromordinal(day + _EPOCH)
        days = self._days(today.year, today.month) >> today.day
        if days & 1:
            found = self._times.at_or_after(second_of_day)
            if found >= 0:
                return local - second_of_day + found
        days >>= 1
        if days:
            return local - second_of_day + (days & -days).bit_length() * DAY + self._times.first
        later = self._after_month(today.year, today.month)
        return None if later is None else later * DAY + self._times.first

    def at_or_before(self, local: int) -> int | None:
        """The last match that is not after a local second; None before the year 1."""
        day, second_of_day = divmod(local, DAY)
        today = date.fromordinal(day + _EPOCH)
        days = self._days(today.year, today.month) & (2 << today.day) - 1
        if days >> today.day:
            found = self._times.at_or_before(second_of_day)
            if found >= 0:
                return local - second_of_day + found
            days ^= 1 << today.day
        if days:
            return (day - today.day + days.bit_length() - 1) * DAY + self._times.last
        earlier = self._before_month(today.year, today.month)
        return None if earlier is None else earlier * DAY + self._times.last

    def between(self, after: int, until: int) -> int:
        """How many matches are later than `after` and not later than `until`, by whole days and two parts of a day."""
        if until <= after:
            return 0
        first, start = divmod(after + 1, DAY)
        last, end = divmod(until + 1, DAY)
        number = self._days_between(first, last) * self._times.number
        if start and self._matches(first):
            number -= self._times.before(start)
        if end and self._matches(last):
            number += self._times.before(end)
        return number

    def _days(self, year: int, month: int) -> int:
        return self._table[shape_of(year, month)] if self._months >> month & 1 else 0

    def _matches(self, day: int) -> bool:
        today = date.fromordinal(day + _EPOCH)
        return bool(self._days(today.year, today.month) >> today.day & 1)

    def _after_month(self, year: int, month: int) -> int | None:
        """The first matching day after a month: only months of the expression are checked."""
        while True:
            left = self._months >> month + 1
            if left:
                month += (left & -left).bit_length()
            else:
                year, month = year + 1, self._first_month
                if year > 9999:
                    return None
            days = self._table[shape_of(year, month)]
            if days:
                return date(year, month, (days & -days).bit_length() - 1).toordinal() - _EPOCH

    def _before_month(self, year: int, month: int) -> int | None:
        while True:
            left = self._months & (1 << month) - 1
            if left:
                month = left.bit_length() - 1
            else:
                year, month = year - 1, self._last_month
                if year < 1:
                    return None
            days = self._table[shape_of(year, month)]
            if days:
                return date(year, month, days.bit_length() - 1).toordinal() - _EPOCH

    def _days_between(self, first: int, last: int) -> int:
        """Matching days from `first` on and before `last`, month by month."""
        if last <= first:
            return 0
        begin, end = date.fromordinal(first + _EPOCH), date.fromordinal(last + _EPOCH)
        number = -(self._days(begin.year, begin.month) & (1 << begin.day) - 1).bit_count()
        year, month = begin.year, begin.month
        while (year, month) != (end.year, end.month):
            number += self._days(year, month).bit_count()
            year, month = (year, month + 1) if month < 12 else (year + 1, 1)
        return number + (self._days(year, month) & (1 << end.day) - 1).bit_count()
