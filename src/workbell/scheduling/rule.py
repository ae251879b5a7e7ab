"""A schedule's rule, read from its text: its ticks, and the window that they may run in."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache
from itertools import islice, takewhile
from typing import NamedTuple

from workbell.errors import JobsError
from workbell.model.schedule import Outside, Schedule
from workbell.timing import Timing, Window, find_next_inside, read_timing


class ScheduleRule(NamedTuple):
    timing: Timing
    window: Window | None
    outside: Outside

    def next_wanted(self, after: datetime) -> datetime | None:
        """The next tick that can make a run: ticks that the window will skip are passed over."""
        if self.window is None or self.outside is Outside.DEFER:
            return self.timing.next(after)
        return find_next_inside(self.timing, self.window, after)

    def run_at(self, tick: datetime) -> datetime:
        """When the run of a tick may start: then, or when the window opens."""
        return tick if self.window is None else self.window.next_start(tick)

    def runs(self, after: datetime) -> Iterator[datetime]:
        """When runs will be due from here on, if nothing interferes."""
        tick = self.next_wanted(after)
        last: datetime | None = None
        while tick is not None:
            at = self.run_at(tick)
            if at != last:
                yield at
            last = at
            tick = self.next_wanted(at)  # ticks before it share its run


def first_runs(rule: ScheduleRule, after: datetime, number: int, cpu_seconds: float) -> list[datetime]:
    """When its first runs from here on will be due: so many, or those that were found in time.

    Where hardly a tick is wanted, such as on 29 February or in a narrow window, years are searched for each.
    """
    end = time.thread_time() + cpu_seconds
    return [*islice(takewhile(lambda _due: time.thread_time() < end, rule.runs(after)), number)]


def rule_of(schedule: Schedule) -> ScheduleRule:
    """The rule of a schedule; raises JobsError if its text cannot be read."""
    options = schedule.options
    if schedule.unreadable is not None:
        raise JobsError("its stored settings cannot be read; put the schedule again.")
    return read_rule(schedule.kind.value, schedule.expression, schedule.timezone, options.window, options.outside)


@lru_cache(maxsize=8192)
def read_rule(
    kind: str, expression: str, timezone: str, window: tuple[str, str] | None, outside: Outside
) -> ScheduleRule:
    """The rule of a schedule's parts, as they are stored."""
    timing = read_timing(kind, expression, timezone)
    return ScheduleRule(timing, None if window is None else Window.parse(*window, timezone), outside)
