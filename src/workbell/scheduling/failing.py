"""Failures of the scheduler with a schedule: they are noted, and the schedule stays visible and goes on (E5)."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from workbell.model.schedule import FireStatus, Schedule, ScheduleChange, TickOutcome

BROKEN_RETRY = timedelta(hours=1)  # how often to try again to read a schedule that cannot be read

replace = msgspec.structs.replace


def decide_broken(schedule: Schedule, now: datetime, error: str) -> ScheduleChange:
    """A schedule that cannot be read: shown as broken, and checked again later."""
    after = replace(
        schedule,
        look_at=now + BROKEN_RETRY,
        next_run_at=None,
        last_fire_status=FireStatus.SCHEDULER_FAILED,
        last_fire_at=now,
        last_error=error,
        scheduler_failures=schedule.scheduler_failures + 1,
    )
    return ScheduleChange(schedule=after, expected=schedule.version)


def decide_failed(change: ScheduleChange, before: Schedule, now: datetime, error: str) -> ScheduleChange:
    """Its runs could not be made: the ticks say so, and the schedule goes on."""
    reason = f"the scheduler failed: {error}"
    ticks = tuple(replace(tick, outcome=TickOutcome.SKIPPED, run=None, reason=reason) for tick in change.ticks)
    after = replace(
        change.schedule,
        last_run_at=before.last_run_at,
        last_run_id=before.last_run_id,
        deferred_until=before.deferred_until,
        run_count=before.run_count,
        last_fire_status=FireStatus.SCHEDULER_FAILED,
        last_fire_at=now,
        last_error=error,
        scheduler_failures=before.scheduler_failures + 1,
    )
    return ScheduleChange(schedule=after, expected=change.expected, ticks=ticks)
