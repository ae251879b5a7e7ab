"""Pause, resume, change or switch off a schedule; ticks that were due before that are decided in the same write."""

from __future__ import annotations

from datetime import datetime

import msgspec

from workbell.errors import JobsError
from workbell.model.schedule import Schedule, ScheduleChange, Tick
from workbell.scheduling.decide import account_for_pending
from workbell.scheduling.declare import same_definition
from workbell.scheduling.rule import rule_of

replace = msgspec.structs.replace

TIMING = ("kind", "expression", "timezone")


def begin(schedule: Schedule, now: datetime) -> ScheduleChange:
    """A new schedule: its first tick is the next one from now on."""
    return ScheduleChange(schedule=_from(schedule, now), expected=None, defines=True)


def redefine(old: Schedule, new: Schedule, now: datetime) -> ScheduleChange | None:
    """A schedule declared again; nothing, if it says the same as before, so that its next tick stays where it was."""
    if same_definition(old, new) and old.unreadable is None:
        return None
    fields = ("job", "kind", "expression", "timezone", "options", "source", "enabled", "updated_at")
    after = replace(old, unreadable=None, **{name: getattr(new, name) for name in fields})
    after = replace(after, reason=_reason(after))
    if _same_timing(old, new) and old.active and after.active and old.unreadable is None:
        return ScheduleChange(schedule=after, expected=old.version, defines=True)
    return _restart(old, after, now, "the schedule was changed")


def pause(old: Schedule, now: datetime) -> ScheduleChange | None:
    if old.paused:
        return None
    return _stopped(replace(old, paused=True, reason="paused", updated_at=now))


def resume(old: Schedule, now: datetime) -> ScheduleChange | None:
    """Ticks that passed meanwhile are noted as skipped: a pause is meant."""
    if not old.paused:
        return None
    after = replace(old, paused=False, updated_at=now)
    return _restart(old, replace(after, reason=_reason(after)), now, "paused")


def switch_off(old: Schedule, reason: str, now: datetime) -> ScheduleChange | None:
    """Switch off a schedule that is no longer declared: it stays visible, with the reason."""
    if not old.enabled:
        return None
    return _stopped(replace(old, enabled=False, reason=reason, updated_at=now))


def _stopped(after: Schedule) -> ScheduleChange:
    after = replace(after, look_at=None, next_run_at=None)
    return ScheduleChange(schedule=after, expected=after.version, defines=True)


def _restart(old: Schedule, after: Schedule, now: datetime, reason: str) -> ScheduleChange:
    if not after.active and _same_timing(old, after):
        return _stopped(after)  # what passes meanwhile is noted when it goes on
    if old.paused:
        reason = "paused"
    elif not old.enabled:
        reason = f"disabled: {old.reason or 'no reason was noted'}"
    ticks = _pending(old, now, reason)
    since = max(now, old.last_scheduled_at or now)
    return ScheduleChange(schedule=_from(after, since), expected=old.version, defines=True, ticks=ticks)


def _pending(old: Schedule, now: datetime, reason: str) -> tuple[Tick, ...]:
    try:
        return account_for_pending(old, rule_of(old), now, reason)
    except JobsError:  # a rule that cannot be read has no ticks
        return ()


def _from(schedule: Schedule, since: datetime) -> Schedule:
    """The schedule after every tick up to a time is accounted for."""
    rule = rule_of(schedule)
    upcoming = rule.next_wanted(since) if schedule.active else None
    return replace(
        schedule,
        last_scheduled_at=since,
        look_at=upcoming,
        next_run_at=None if upcoming is None else rule.run_at(upcoming),
        held_tick=None,
        deferred_until=None,
        last_error=None,
        reason=_reason(schedule),
    )


def _reason(schedule: Schedule) -> str | None:
    if schedule.paused:
        return "paused"
    return None if schedule.enabled else "switched off where it is declared"


def _same_timing(old: Schedule, new: Schedule) -> bool:
    options = ("window", "outside")
    return all(getattr(old, name) == getattr(new, name) for name in TIMING) and all(
        getattr(old.options, name) == getattr(new.options, name) for name in options
    )
