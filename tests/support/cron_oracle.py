"""A judge of cron schedules that is too simple to be wrong; it shares no code with the package.

A real-time schedule is walked through UTC, minute by minute, asking `zoneinfo` what the clock on the wall shows. A
wall-clock schedule is walked through local time, and each local minute is mapped: to its first pass where there are
two, to the first instant after the gap where there is none. What all schedules of a zone share is looked at once.
"""

from __future__ import annotations

import calendar
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MONTHS = {name.upper(): number for number, name in enumerate(calendar.month_abbr) if name}
WEEKDAYS = {name: number for number, name in enumerate(["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"])}
HOUR = timedelta(hours=1)
Row = tuple[date, int, int, int, int, bool]  # what the clock shows, the instant, whether that lies in a gap


class Rule:
    """An expression as sets of values and a question about a date."""

    def __init__(self, expression: str) -> None:
        fields = expression.upper().split()
        if len(fields) == 5:
            fields.insert(0, "0")
        second, minute, hour, self.day, month, self.weekday = fields
        self.seconds = expand(second, 0, 59)
        self.minutes = expand(minute, 0, 59)
        self.hours = expand(hour, 0, 23)
        self.months = expand(month, 1, 12, MONTHS)
        self.real_time = minute[0] == "*" or hour[0] == "*"
        self.both = self.day[0] in "*?" or self.weekday[0] in "*?"

    def has_day(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        by_number = any(self.fits_number(day, item) for item in self.day.split(","))
        by_weekday = any(self.fits_weekday(day, item) for item in self.weekday.split(","))
        return (by_number and by_weekday) if self.both else (by_number or by_weekday)

    def fits_number(self, day: date, item: str) -> bool:
        length = calendar.monthrange(day.year, day.month)[1]
        month = [day.replace(day=number) for number in range(1, length + 1)]
        working = [each for each in month if each.weekday() < 5]
        if item == "?":
            return True
        if item == "LW":
            return day == working[-1]
        if item.startswith("L"):
            return day.day == length - int(item[2:] or 0)
        if item.endswith("W"):
            wanted = int(item[:-1])
            return wanted <= length and day == min(working, key=lambda each: abs(each.day - wanted))
        return day.day in expand(item, 1, 31)

    def fits_weekday(self, day: date, item: str) -> bool:
        if item == "?":
            return True
        today = day.isoweekday()
        if item.endswith("L"):
            return today % 7 in expand(item[:-1], 0, 7, WEEKDAYS, 7) and (day + timedelta(7)).month != day.month
        if "#" in item:
            wanted, which = item.split("#")
            return today % 7 in expand(wanted, 0, 7, WEEKDAYS, 7) and (day.day - 1) // 7 + 1 == int(which)
        return today % 7 in expand(item, 0, 7, WEEKDAYS, 7)


def expand(text: str, low: int, high: int, names: dict[str, int] | None = None, size: int = 0) -> set[int]:
    """The values of a field, counted up one by one; `size` is how many there are until they begin again."""
    size = size or high - low + 1
    return {
        low + (value - low) % size for item in text.split(",") for value in count_up(item, low, high, names or {}, size)
    }


def count_up(item: str, low: int, high: int, names: dict[str, int], size: int) -> range:
    span, _, step = item.partition("/")
    first, _, last = span.partition("-")
    if span == "*":
        return range(low, high + 1, int(step or 1))
    begin = names[first] if first in names else int(first)
    if last:
        end = names[last] if last in names else int(last)
        return range(begin, (end if begin <= end else end + size) + 1, int(step or 1))
    return range(begin, (high if step else begin) + 1, int(step or 1))


class Scene:
    """Some days of a zone, seen once for all schedules: what each UTC minute shows, and where each local minute goes.

    `grain` is 60 where all offsets are whole minutes, and 1 where they are not.
    """

    def __init__(self, zone: str, middle: int, hours: int = 27, grain: int = 60) -> None:
        self.zone, self.grain, self.middle = ZoneInfo(zone), grain, middle
        self._gap_end: int | None = None
        self.begin, self.end = middle - hours * 3600, middle + hours * 3600
        self.real: list[Row] = []
        for instant in range(self.begin, self.end, grain):
            shown = local_time(instant, self.zone)
            self.real.append((shown.date(), shown.hour, shown.minute, shown.second, instant, False))
        self.wall: list[Row] = []
        # No other change is near, so that only these local times can have a tick between the two ends.
        shown, last = local_time(self.begin, self.zone) - HOUR, local_time(self.end, self.zone) + HOUR
        while shown < last:
            instant, in_gap = self.tick_of(shown)
            if self.begin <= instant < self.end:
                self.wall.append((shown.date(), shown.hour, shown.minute, shown.second, instant, in_gap))
            shown += timedelta(seconds=grain)

    def tick_of(self, shown: datetime) -> tuple[int, bool]:
        """The first pass of a local time; or the first instant after the gap in which it lies."""
        passes = [seconds_of(shown.replace(tzinfo=self.zone, fold=fold)) for fold in (0, 1)]
        real = [instant for instant in passes if local_time(instant, self.zone) == shown]
        if real:
            return min(real), False
        # One gap has one end: what was found for the minute before is not walked to again.
        known = self._gap_end
        instant = known if known and local_time(known - 1, self.zone) < shown else min(passes)
        while local_time(instant, self.zone) < shown:
            instant += self.grain
        self._gap_end = instant
        return instant, True

    def ticks(self, rule: Rule) -> list[int]:
        """Every tick in the scene, in seconds of UTC."""
        days: dict[date, bool] = {}
        found: set[int] = set()
        for day, hour, minute, second, instant, in_gap in self.real if rule.real_time else self.wall:
            if minute not in rule.minutes or hour not in rule.hours:
                continue
            if day not in days:
                days[day] = rule.has_day(day)
            if not days[day]:
                continue
            if self.grain == 1:
                if second in rule.seconds:
                    found.add(instant)
            elif in_gap:
                found.add(instant)
            else:
                found.update(instant + each for each in rule.seconds)
        return sorted(found)


def local_time(instant: int, zone: ZoneInfo) -> datetime:
    return (EPOCH + timedelta(seconds=instant)).astimezone(zone).replace(tzinfo=None, fold=0)


def seconds_of(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(seconds=1)


def changes(zone: str, first_year: int, last_year: int) -> list[int]:
    """Every second at which the zone's offset changes, in those years."""
    place = ZoneInfo(zone)

    def offset(instant: int) -> timedelta | None:
        return (EPOCH + timedelta(seconds=instant)).astimezone(place).utcoffset()

    found = []
    low = seconds_of(datetime(first_year, 1, 1, tzinfo=UTC))
    end = seconds_of(datetime(last_year + 1, 1, 1, tzinfo=UTC))
    old = offset(low)
    while low < end:
        high = low + 86_400
        new = offset(high)
        if new != old:
            before = low
            after = high
            while after - before > 1:
                middle = (before + after) // 2
                before, after = (middle, after) if offset(middle) == old else (before, middle)
            found.append(after)
        low, old = high, new
    return found
