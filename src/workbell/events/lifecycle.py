"""Workbell's own events about runs, ticks and workers, ready to be stored. Pure.

Each has a key made of what it is about, so that a write that is repeated tells it once. Events about a run lie one
deeper than those behind the run, so that depth ends every chain. Of runs that such an event made none is told.

Not told of: ticks that pass while somebody has paused or changed their schedule.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from workbell.handlers.current_run import depth_behind
from workbell.model.event import SYSTEM_SOURCE, Event
from workbell.model.ids import new_id
from workbell.model.job import ALERT, CLEAN, DELIVERY
from workbell.model.payload import clean_text
from workbell.model.run import Run
from workbell.model.schedule import Schedule, Tick
from workbell.model.state import Move, Transition
from workbell.notices.listeners import (
    Describe,
    LifecycleEvent,
    about_chain,
    about_run,
    about_tick,
    about_worker,
    nothing_known,
    type_of,
)

# Jobs whose runs tell nothing: each delivery would be followed by one that tells of it, and who hears of the ends of
# jobs means those of the application.
QUIET = frozenset({DELIVERY, ALERT, CLEAN})
ERROR_LIMIT = 2000  # characters; all of it is kept with the run


def type_of_change(run: Run, change: Transition) -> str | None:
    """The type of the event that a transition is, if it is one."""
    return None if _is_quiet(run) else type_of(change.move, final=change.status.final)


def _is_quiet(run: Run) -> bool:
    """Of what hears of Workbell's own events nothing is told: each of several that hear `job.completed` would hear of
    all the others' runs, and of theirs again."""
    return run.job in QUIET or (run.options_text is not None and run.options.quiet)


def event_of_change(run: Run, change: Transition, describe: Describe = nothing_known) -> Event | None:
    """What a transition tells when it is written: that a job has completed or failed for good, or was canceled."""
    if type_of_change(run, change) is None:
        return None
    told = about_run(change.move, change.after(run), describe)
    return None if told is None else _about(run, told, run.token)


def event_of_chain(run: Run, change: Transition, describe: Describe = nothing_known) -> Event | None:
    """That a transition ends the chain of runs that `auto_reschedule` made."""
    told = None if _is_quiet(run) else about_chain(change.move, change.after(run), describe)
    return None if told is None else _about(run, told, run.token)


def event_of_start(run: Run, describe: Describe = nothing_known) -> Event | None:
    """That a worker has taken a run, as it is under its lease. Claimed again before its handler was called, it is the
    same attempt, and the same event."""
    if _is_quiet(run):
        return None
    told = about_run(Move.START, run, describe)
    return None if told is None else _about(run, told, run.attempt)


def event_of_tick(schedule: Schedule, tick: Tick) -> Event:
    """That a tick made no run; a span of ticks is one event, with their count."""
    told = about_tick(schedule, tick)
    key = f"{told.type}:{schedule.id}:{tick.due.isoformat()}"
    return _event(told, schedule.tenant, subject=schedule.name, key=key)


def event_of_loss(tenant: str, worker: str, runs: Sequence[Run], now: datetime) -> Event:
    """That a worker is gone: one event for each tenant, with its runs that it held; the first that is told counts."""
    told = about_worker(worker, runs, now)
    depth = max((depth_behind(run) for run in runs), default=-1) + 1
    return _event(told, tenant, subject=worker, key=f"{told.type}:{worker}", depth=depth)


def _about(run: Run, told: LifecycleEvent, number: int) -> Event:
    key = f"{told.type}:{run.id}:{number}"
    return _event(told, run.tenant, subject=run.id, key=key, depth=depth_behind(run) + 1, cause=run.id)


def _event(
    told: LifecycleEvent, tenant: str, *, subject: str, key: str, depth: int = 0, cause: str | None = None
) -> Event:
    if told.error is not None:
        told = msgspec.structs.replace(told, error=clean_text(told.error, ERROR_LIMIT))
    data = {name: value for name, value in told.as_dict().items() if name not in ("type", "time")}
    return Event(
        new_id(),
        tenant,
        told.type,
        SYSTEM_SOURCE,
        told.time,
        told.time,
        subject=subject,
        data_text=msgspec.json.encode(data).decode(),
        key=key,
        system=True,
        depth=depth,
        cause=cause,
    )
