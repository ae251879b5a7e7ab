"""Notes on clock changes for previews: what they do to the ticks of a schedule."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from workbell.scheduling.rule import ScheduleRule
from workbell.timing import Cron, Timing
from workbell.timing.clock_changes import gap_before, local_second, offset_at, time_shown

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  as the clock on the wall counts, which has no zone
_DAY = 86_400


def clock_notes(rule: ScheduleRule, ticks: Sequence[datetime], timezone: str, since: datetime) -> list[str | None]:
    """One note for each tick, or none where there is nothing to say; `since` is what the first is compared with."""
    notes = []
    offset = offset_at(since, timezone)
    for tick in ticks:
        now = offset_at(tick, timezone)
        notes.append(_note(rule.timing, tick, timezone) or (None if now == offset else f"from here on {_utc(now)}"))
        offset = now
    return notes


def _note(timing: Timing, tick: datetime, timezone: str) -> str | None:
    """Only a cron text names times of day; and a run that waits for its window starts when that opens."""
    if not isinstance(timing, Cron) or timing.latest(tick) != tick:
        return None
    if not timing.follows_real_time and (note := _after_gap(timing, tick, timezone)) is not None:
        return note
    which = time_shown(tick, timezone)
    if which is None:
        return None
    shown = _clock(local_second(tick, timezone))
    if timing.follows_real_time:
        return f"clocks go back: {shown} comes twice, and it runs both times; this is the {_WHICH[which]}"
    return f"clocks go back: {shown} comes twice, it runs the first time only"


_WHICH = {1: "first", 2: "second"}


def _after_gap(cron: Cron, tick: datetime, timezone: str) -> str | None:
    """Times that the clock skips are made up for once, at the first instant after them."""
    gap = gap_before(tick, timezone)
    named = None if gap is None else cron.local_times(gap.first, gap.last)
    if named is None:
        return None
    first, last = named
    local = local_second(tick, timezone)
    missing = _clock(first) if first == last else f"{_clock(first)} to {_clock(last)}"
    if first // _DAY != local // _DAY:  # a zone that changed sides of the date line has skipped a whole day
        missing, when = f"{_date(first)} {missing}", ""
    else:
        when = " on this day"
    verb = "does" if first == last else "do"
    return f"clocks go forward before this tick: {missing} {verb} not exist{when}, it runs at {_clock(local)}"


def _clock(local: int) -> str:
    time = (_EPOCH + timedelta(0, local)).time()
    return time.isoformat("auto" if time.second else "minutes")


def _date(local: int) -> str:
    return (_EPOCH + timedelta(0, local)).date().isoformat()


def _utc(offset: int) -> str:
    hours, rest = divmod(abs(offset), 3600)
    minutes, seconds = divmod(rest, 60)
    return f"UTC{'-' if offset < 0 else '+'}{hours:02}:{minutes:02}" + (f":{seconds:02}" if seconds else "")
