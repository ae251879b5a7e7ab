"""Decides for each due or missed tick whether it makes a run, is skipped, or is merged into a later one. Pure.

Every tick between the last one accounted for and now gets exactly one fate in the ledger. Ticks that share a fate
share a row, so that a month without a scheduler is a handful of rows.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, assert_never

import msgspec

from workbell.model.run import NewRun, Outside
from workbell.model.schedule import CatchUp, FireStatus, Overlap, Schedule, ScheduleChange, Tick, TickOutcome
from workbell.scheduling.change_builder import Decision, MakeRun
from workbell.scheduling.rule import ScheduleRule

LATE = timedelta(seconds=60)  # a tick noticed later than this was missed, not merely late
HELD_TICK_CHECK = timedelta(seconds=1)  # how often to check whether the held tick (`queue_one`) may go

replace = msgspec.structs.replace


def decide(
    schedule: Schedule, rule: ScheduleRule, now: datetime, *, blocker: str | None, make_run: MakeRun
) -> ScheduleChange:
    """The one change that follows from a check of a schedule. `blocker` is a run that is in the way of its ticks."""
    work = Decision(schedule, rule, now, make_run)
    overlap, was_busy = schedule.options.overlap, blocker is not None
    if work.held is not None and blocker is None:
        blocker = _let_go(work, work.held)
    since = schedule.last_scheduled_at or schedule.created_at
    upcoming = rule.timing.next(since)
    if upcoming is not None and upcoming <= now:
        tick, upcoming = upcoming, rule.next_wanted(upcoming)
        if rule.window is None and (upcoming is None or upcoming > now) and not _is_missed(work, tick):
            _fire(work, tick, blocker)  # one tick, on time: by far the most frequent case
            since = tick
        else:
            latest = rule.timing.latest(now)
            assert latest is not None  # there is at least this tick
            _account(work, since, latest, blocker)
            since, upcoming = latest, rule.next_wanted(latest)
    elif rule.window is not None:
        upcoming = rule.next_wanted(since)
    if work.deferred_until is not None and work.deferred_until > now:
        # All ticks until then share the fate of the deferred one: no need to wake for each.
        upcoming = rule.timing.next(work.deferred_until)
    check_at = upcoming
    if work.held is not None:
        check_at = now + HELD_TICK_CHECK if upcoming is None else min(upcoming, now + HELD_TICK_CHECK)
    fired = bool(work.runs)
    touched = fired or bool(work.ticks)
    after = replace(
        schedule,
        look_at=check_at,
        next_run_at=_next_run_at(work, upcoming),
        last_scheduled_at=since,
        held_tick=work.held,
        deferred_until=work.deferred_until,
        last_run_at=now if fired else schedule.last_run_at,
        last_run_id=work.standing,
        last_fire_status=_status(work) if touched else schedule.last_fire_status,
        last_fire_at=now if touched else schedule.last_fire_at,
        last_error=None,
        run_count=schedule.run_count + len(work.runs),
    )
    return ScheduleChange(
        schedule=after,
        expected=schedule.version,
        only_idle=fired and not was_busy and overlap is not Overlap.ALLOW,
        cancel_live=fired and was_busy and overlap is Overlap.CANCEL_PREVIOUS,
        ticks=tuple(work.ticks),
        runs=tuple(work.runs),
    )


def _let_go(work: Decision, tick: datetime) -> str | None:
    """The held tick's turn has come: the run that it makes, if any, which must not start while the window is closed."""
    work.held, at = None, tick
    reason = "waited until the run before it had ended"
    window = work.rule.window
    if window is not None and not window.contains(work.now):
        if work.rule.outside is Outside.SKIP:
            work.note(tick, TickOutcome.SKIPPED, f"{reason}; by then it was outside the window")
            return None
        at = work.deferred_until = window.next_start(work.now)
    run = work.make(tick, at)
    work.note(tick, TickOutcome.DEFERRED, reason, run.id)
    return run.id


def _status(work: Decision) -> FireStatus:
    if work.deferred_until is not None and work.deferred_until > work.now:
        return FireStatus.DEFERRED
    return FireStatus.FIRED if work.runs else FireStatus.SKIPPED


def _next_run_at(work: Decision, upcoming: datetime | None) -> datetime | None:
    if work.deferred_until is not None and work.deferred_until > work.now:
        return work.deferred_until
    return None if upcoming is None else work.rule.run_at(upcoming)


def _account(work: Decision, since: datetime, latest: datetime, blocker: str | None) -> None:
    """A fate for every tick after `since` up to the latest one."""
    since = _pass_over_outside(work, since, latest)
    first = work.rule.timing.next(since)
    if first is None or first > latest:
        return
    chosen = _choose(work, since, first, latest)
    before = (len(work.runs), work.held)
    for tick in chosen:
        _fire(work, tick, blocker)
    policy = work.schedule.options.catch_up
    if policy is CatchUp.LATEST or (policy is CatchUp.ALL and _replaces(work)):
        if (len(work.runs), work.held) != before:
            _note_missed(work, since, first, chosen, TickOutcome.COALESCED, "made up for by the newest tick")
        else:
            _note_missed(work, since, first, chosen, TickOutcome.SKIPPED, "missed, and so was the newest tick")


def _pass_over_outside(work: Decision, since: datetime, latest: datetime) -> datetime:
    """Ticks outside the window that share one fate, up to the first that has another."""
    timing = work.rule.timing
    if work.deferred_until is not None and work.deferred_until > since:
        upto = min(work.deferred_until, latest)  # with the one at the opening itself, if there is one
        outcome, reason = TickOutcome.COALESCED, "the run deferred to the window's opening stands for it"
        run = work.standing
    elif work.rule.window is not None and work.rule.outside is Outside.SKIP:
        inside = work.rule.next_wanted(since)
        upto = latest if inside is None else min(inside - timedelta(microseconds=1), latest)
        outcome, reason, run = TickOutcome.SKIPPED, "outside the window", None
    else:
        return since
    first, last = timing.next(since), timing.latest(upto)
    if first is None or last is None or last < first:
        return since
    work.span(first, last, timing.count(since, last), outcome, reason, run)
    return last


def _choose(work: Decision, since: datetime, first: datetime, latest: datetime) -> list[datetime]:
    """The ticks that are decided one by one, by the catch-up policy; the others are noted as a span."""
    if first == latest and not _is_missed(work, latest):
        return [latest]
    policy = work.schedule.options.catch_up
    match policy:
        case CatchUp.LATEST:
            return [latest]
        case CatchUp.NONE:
            chosen = [latest] if work.now - latest <= LATE else []
            _note_missed(work, since, first, chosen or [], TickOutcome.SKIPPED, "missed: no scheduler was running")
            return chosen
        case CatchUp.ALL:
            if _replaces(work):
                return [latest]
            chosen = _newest(work, first, latest, work.schedule.options.catch_up_cap)
            cap = f"missed: beyond the catch-up cap of {work.schedule.options.catch_up_cap}"
            _note_missed(work, since, first, chosen, TickOutcome.SKIPPED, cap)
            return chosen
        case _:
            assert_never(policy)


def _is_missed(work: Decision, tick: datetime) -> bool:
    return work.schedule.options.catch_up is CatchUp.NONE and work.now - tick > LATE


def _replaces(work: Decision) -> bool:
    """Of many runs at once each would cancel the one before it: one is enough."""
    return work.schedule.options.overlap is Overlap.CANCEL_PREVIOUS


def _newest(work: Decision, first: datetime, latest: datetime, most: int) -> list[datetime]:
    found = [latest]
    while len(found) < most and found[-1] > first:
        before = work.rule.timing.latest(found[-1] - timedelta(microseconds=1))
        if before is None or before < first:
            break
        found.append(before)
    return found[::-1]


def _note_missed(
    work: Decision, since: datetime, first: datetime, chosen: list[datetime], outcome: TickOutcome, reason: str
) -> None:
    """The ticks before the chosen ones (all, if none was chosen) as one row."""
    end = chosen[0] - timedelta(microseconds=1) if chosen else work.now
    last = work.rule.timing.latest(end)
    if last is None or last < first:
        return
    run = work.standing if outcome is TickOutcome.COALESCED and work.held is None else None
    work.span(first, last, work.rule.timing.count(since, last), outcome, reason, run)


def _fire(work: Decision, tick: datetime, blocker: str | None) -> None:
    """One tick: its run now or when the window opens, or the reason why there is none."""
    window = work.rule.window
    start = tick if work.now - tick <= LATE else work.now
    at = tick
    if window is not None and _is_outside(work, tick, start):
        if work.rule.outside is Outside.SKIP:
            work.note(tick, TickOutcome.SKIPPED, "outside the window")
            return
        at = window.next_start(start)
        if work.deferred_until == at:
            work.note(
                tick, TickOutcome.COALESCED, "the run deferred to the window's opening stands for it", work.standing
            )
            return
    overlap = work.schedule.options.overlap
    if blocker is not None and overlap is Overlap.SKIP:
        work.note(tick, TickOutcome.SKIPPED, f"the run before it ({blocker}) has not ended")
    elif overlap is Overlap.QUEUE_ONE and (blocker is not None or work.runs):
        if work.held is None:
            work.held = tick  # in the ledger when it goes
        else:
            work.note(tick, TickOutcome.SKIPPED, "another tick is waiting already")
    else:
        run = work.make(tick, at)
        if at == tick:
            work.note(tick, TickOutcome.FIRED, None, run.id)
        else:
            work.deferred_until = at
            work.note(
                tick, TickOutcome.DEFERRED, f"outside the window; its run is due at {at:%Y-%m-%d %H:%M} UTC", run.id
            )


def _is_outside(work: Decision, tick: datetime, start: datetime) -> bool:
    """Whether the run would start outside the window; a tick that is to be skipped is not made up for either."""
    window = work.rule.window
    assert window is not None
    made_up = work.rule.outside is Outside.SKIP and work.schedule.options.catch_up is CatchUp.ALL
    return not window.contains(start) or (made_up and not window.contains(tick))


def stretch_outside(schedule: Schedule, rule: ScheduleRule, now: datetime) -> Tick | None:
    """The ticks outside the window that have passed since the last decision, as the row that the next one writes.

    No scheduler wakes for them, so that the ledger gets their row when the window opens.
    """
    latest = rule.timing.latest(now) if schedule.active and rule.window is not None else None
    if latest is None:
        return None
    work = Decision(schedule, rule, now, _no_run)
    _pass_over_outside(work, schedule.last_scheduled_at or schedule.created_at, latest)
    return work.ticks[0] if work.ticks else None


def account_for_pending(schedule: Schedule, rule: ScheduleRule, now: datetime, reason: str) -> tuple[Tick, ...]:
    """Every tick that is not in the ledger yet, as skipped: the schedule was paused, changed or switched off."""
    work = Decision(schedule, rule, now, _no_run)
    if work.held is not None:
        work.note(work.held, TickOutcome.SKIPPED, reason)
    since = schedule.last_scheduled_at or schedule.created_at
    first, last = rule.timing.next(since), rule.timing.latest(now)
    if first is not None and last is not None and first <= last:
        work.span(first, last, rule.timing.count(since, last), TickOutcome.SKIPPED, reason, None)
    return tuple(work.ticks)


def skip_pending(schedule: Schedule, rule: ScheduleRule, now: datetime, reason: str) -> ScheduleChange:
    """No run for the ticks that are due, which are in the ledger as skipped; the schedule goes on with the next."""
    ticks = account_for_pending(schedule, rule, now, reason)
    since = schedule.last_scheduled_at or schedule.created_at
    latest = rule.timing.latest(now)
    since = since if latest is None else max(since, latest)
    upcoming = rule.next_wanted(since)
    after = replace(
        schedule,
        look_at=upcoming,
        next_run_at=None if upcoming is None else rule.run_at(upcoming),
        last_scheduled_at=since,
        held_tick=None,
        deferred_until=None,
        last_fire_status=FireStatus.SKIPPED if ticks else schedule.last_fire_status,
        last_fire_at=now if ticks else schedule.last_fire_at,
        last_error=None,
    )
    return ScheduleChange(schedule=after, expected=schedule.version, ticks=ticks)


def _no_run(*_: Any) -> NewRun:
    raise AssertionError("a tick that is only accounted for makes no run")
