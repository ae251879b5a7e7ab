"""Run requests of a schedule: the run of a tick, and the options of a run that is made now."""

from __future__ import annotations

from datetime import datetime
from typing import cast

from workbell.model.job import UNKNOWN, RunTerms
from workbell.model.limit import limit_key
from workbell.model.merge_patch import merge_input
from workbell.model.request import EnqueueOptions, made_by_rule, run_options
from workbell.model.run import Lane, NewRun, RunWindow
from workbell.model.run_defaults import RUN_WORDS, Maker, layered
from workbell.model.schedule import Schedule


def request_for(schedule: Schedule, due: datetime, now: datetime, maker: Maker, terms: RunTerms = UNKNOWN) -> NewRun:
    """A run of a schedule's job, stamped with the schedule and the time it was due. `terms` are the job's."""
    options, window = schedule.options, schedule.options.window
    said = layered(options, terms.defaults)
    text = merge_input(schedule.job, terms.template, options.input)
    key = limit_key(terms.limits, text) if terms.limits.key is not None else None
    return made_by_rule(
        Lane(schedule.tenant, said.queue or terms.queue, schedule.job, said.target, key),
        said,
        run_options(
            said,
            maker,
            alerts=options.alert_url is not None,
            pings=options.ping_url is not None,
            window=None if window is None else RunWindow(*window, schedule.timezone, options.outside),
        ),
        due=due,
        now=now,
        maker=maker,
        input_text=text,
        schedule=schedule.id,
    )


def enqueue_options(schedule: Schedule) -> EnqueueOptions:
    """The settings of a schedule's runs as options of an enqueue: for a run now."""
    said = {word: value for word in RUN_WORDS if (value := getattr(schedule.options, word)) is not None}
    return cast(EnqueueOptions, said)
