"""Workbell's own events about runs, ticks and workers, ready to be stored. Pure.

Each has a key made of its subject, so that a repeated write stores it once. Events about a run are one deeper than
those behind the run, so that depth ends every chain. Runs that such an event made have no events of their own.

Ticks that pass while their schedule is paused or being changed make no event.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from workbell.handlers.current_run import depth_behind
from workbell.model.event import SYSTEM_SOURCE, Event
from workbell.model.ids import new_id
from workbell.model.job import ALERT, CLEAN, DELIVERY
from workbell.model.json_text import clean_text
from workbell.model.run import Run
from workbell.model.schedule import Schedule, Tick
from workbell.model.state import Move, Transition
from workbell.model.worker import alias_of
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

# Jobs whose runs make no events: each delivery would cause another delivery, and subscribers to the ends of jobs mean
# jobs of the application.
QUIET = frozenset({DELIVERY, ALERT, CLEAN})
ERROR_LIMIT = 2000  # characters; the run itself has all of it


def type_of_change(run: Run, change: Transition) -> str | None:
    """Type of the event about a transition, if there is one."""
    return None if _is_quiet(run) else type_of(change.move, final=change.status.final)


def _is_quiet(run: Run) -> bool:
    """Whether a run makes no events. Runs of subscribers to Workbell's own events make none: each of several that
    subscribe to `job.completed` would get the others' runs, and these its own, without end."""
    return run.job in QUIET or (run.options_text is not None and run.options.quiet)


def event_of_change(run: Run, change: Transition, describe: Describe = nothing_known) -> Event | None:
    """Event of a transition: a job has completed or failed for good, or was canceled."""
    if type_of_change(run, change) is None:
        return None
    about = about_run(change.move, change.after(run), describe)
    return None if about is None else _about(run, about, run.token)


def event_of_chain(run: Run, change: Transition, describe: Describe = nothing_known) -> Event | None:
    """Event of a transition that ends the chain of runs made by `auto_reschedule`."""
    about = None if _is_quiet(run) else about_chain(change.move, change.after(run), describe)
    return None if about is None else _about(run, about, run.token)


def event_of_start(run: Run, describe: Describe = nothing_known) -> Event | None:
    """Event of a start: a worker has claimed a run. Claimed again before its handler was called, it is the same
    attempt, and the same event."""
    if _is_quiet(run):
        return None
    about = about_run(Move.START, run, describe)
    return None if about is None else _about(run, about, run.attempt)


def event_of_tick(schedule: Schedule, tick: Tick) -> Event:
    """Event of a tick that made no run; a span of ticks is one event, with their count."""
    about = about_tick(schedule, tick)
    key = f"{about.type}:{schedule.id}:{tick.due.isoformat()}"
    return _event(about, schedule.tenant, subject=schedule.name, key=key)


def event_of_loss(tenant: str, worker: str, runs: Sequence[Run], now: datetime, *, names_worker: bool) -> Event:
    """Event of a lost worker: one for each tenant, with its runs that the worker held; the first one stored counts.

    It names the worker and its host, or has an alias instead.
    """
    about, alias = about_worker(worker, runs, now), alias_of(worker)
    if not names_worker and alias != worker:
        about = msgspec.structs.replace(about, worker=alias, host=None)
    depth = max((depth_behind(run) for run in runs), default=-1) + 1
    return _event(about, tenant, subject=about.worker or alias, key=f"{about.type}:{alias}", depth=depth)


def _about(run: Run, about: LifecycleEvent, number: int) -> Event:
    key = f"{about.type}:{run.id}:{number}"
    return _event(about, run.tenant, subject=run.id, key=key, depth=depth_behind(run) + 1, cause=run.id)


def _event(
    about: LifecycleEvent, tenant: str, *, subject: str, key: str, depth: int = 0, cause: str | None = None
) -> Event:
    if about.error is not None:
        about = msgspec.structs.replace(about, error=clean_text(about.error, ERROR_LIMIT))
    data = {name: value for name, value in about.as_dict().items() if name not in ("type", "time")}
    return Event(
        new_id(),
        tenant,
        about.type,
        SYSTEM_SOURCE,
        about.time,
        about.time,
        subject=subject,
        data_text=msgspec.json.encode(data).decode(),
        key=key,
        system=True,
        depth=depth,
        cause=cause,
    )
