"""A schedule's rule, read from its text: its ticks, and the window that they may run in. And: may a run start now?"""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import islice, takewhile
from typing import NamedTuple

import msgspec

from workbell.errors import JobsError, UnreadableRow
from workbell.model.outcome import OutsideWindow, Raised
from workbell.model.run import Outside, Run, RunWindow, options_failure
from workbell.model.schedule import Schedule
from workbell.model.unreadable import about
from workbell.timing import Timing, Window, find_next_inside, read_timing

# Clocks of two processes may differ: a run that the one has queued at the very opening is not early for the other.
SKEW = timedelta(seconds=1)


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
        raise JobsError(schedule.unreadable.sentence)
    return read_rule(schedule.kind.value, schedule.expression, schedule.timezone, options.window, options.outside)


@lru_cache(maxsize=8192)
def read_rule(
    kind: str, expression: str, timezone: str, window: tuple[str, str] | None, outside: Outside
) -> ScheduleRule:
    """The rule of a schedule's parts, as they are stored."""
    timing = read_timing(kind, expression, timezone)
    return ScheduleRule(timing, None if window is None else read_window(*window, timezone), outside)


def window_of(run: Run) -> RunWindow | None:
    """The window that a run must start in. Only ticks give one; to read the options of other runs would cost time."""
    return None if run.schedule is None or run.options_text is None else run.options.window


def judge_start(run: Run, now: datetime) -> OutsideWindow | Raised | None:
    """The outcome of a run that must not start now: its window is closed, or its options cannot be read. None if it
    may start. Pure.

    Asked when a run was claimed, and again right before its handler is called: runs wait in a worker, too.
    """
    failure = options_failure(run.options_text)
    if failure is not None:  # it would be started without its own timeout, retries and window
        text = f"run {run.id}: {about({'options': failure}, 'enqueue it again.')}"
        return Raised(UnreadableRow(text), "unreadable", final=True)
    try:
        window = window_of(run)
        if window is None:
            return None
        early = run.scheduled_for - now
        moment = run.scheduled_for if timedelta(0) < early <= SKEW else now
        opening = read_window(window.start, window.end, window.timezone).next_start(moment)
    except (JobsError, msgspec.MsgspecError) as error:  # such as a zone that is not known on this machine
        return Raised(error, "window")
    if opening == moment:
        return None
    return OutsideWindow(None if window.outside is Outside.SKIP else opening)


@lru_cache(maxsize=8192)
def read_window(start: str, end: str, timezone: str) -> Window:
    """The window of stored texts."""
    return Window.parse(start, end, timezone)
