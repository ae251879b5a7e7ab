"""The run that a tick makes."""

from __future__ import annotations

from datetime import datetime

import msgspec

from workbell.model.alert import UNWATCHED, Watched
from workbell.model.ids import new_id
from workbell.model.limit import NO_LIMITS, Limits, key_of
from workbell.model.run import Lane, NewRun, Options, Run, Status
from workbell.model.schedule import Schedule


def request_for(
    schedule: Schedule, queue: str, due: datetime, now: datetime, limits: Limits = NO_LIMITS, priority: int = 0
) -> NewRun:
    """A run of a schedule's job, stamped with the schedule and the time it was due; the last two are the job's."""
    options = schedule.options
    settings = None
    told = Watched(options.alert_url is not None, options.ping_url is not None)
    if options.retry is not None or options.timeout is not None or told != UNWATCHED:
        own = Options(retry=options.retry, timeout=options.timeout, alerts=told.alerts, pings=told.pings)
        settings = msgspec.json.encode(own).decode()
    return NewRun(
        Run(
            new_id(),
            Lane(
                schedule.tenant,
                options.queue or queue,
                schedule.job,
                options.target,
                key_of(limits, options.payload) if limits.key is not None else None,
            ),
            Status.SCHEDULED if due > now else Status.QUEUED,
            -(priority if options.priority is None else options.priority),
            due,
            now,
            now,
            input_text=options.payload,
            options_text=settings,
            schedule=schedule.id,
        )
    )
