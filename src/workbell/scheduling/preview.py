"""Preview of a timing: its next runs in UTC and local time, with notes on clock changes."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import msgspec

from workbell.model.upcoming_ticks import TriedTiming, UpcomingTicks
from workbell.scheduling.clock_notes import clock_notes
from workbell.scheduling.declare import rule_from
from workbell.scheduling.rule import ScheduleRule, first_runs
from workbell.scheduling.settings import ScheduleSettings
from workbell.scheduling.words import rule_in_words

LONG_ENOUGH = 0.1  # seconds of the CPU to search for ticks; those found by then are shown


def upcoming_ticks(rule: ScheduleRule, zone: str, since: datetime, number: int) -> UpcomingTicks:
    """The first runs of a rule after a time: so many, or those that were found in time."""
    times, here = first_runs(rule, since, number, LONG_ENOUGH), ZoneInfo(zone)
    return UpcomingTicks(
        timezone=zone,
        items=tuple(times),
        local=tuple(time.astimezone(here).isoformat() for time in times),
        notes=tuple(clock_notes(rule, times, zone, since)),
    )


def tried_timing(settings: ScheduleSettings, zone: str, now: datetime, number: int) -> TriedTiming:
    """The preview of settings of a schedule that is not made; raises for what cannot be used."""
    rule = rule_from(settings, zone, now)
    found = upcoming_ticks(rule, zone, now, number)
    return TriedTiming(**msgspec.structs.asdict(found), in_words=rule_in_words(rule))
