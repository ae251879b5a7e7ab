"""The verbs about queues: `bell.queues.list()` for people, `bell.queues.scale()` for autoscalers."""

from __future__ import annotations

import builtins
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from heapq import nsmallest

from workbell.errors import InvalidOption
from workbell.model.job import name as checked_name
from workbell.model.pause import Pause
from workbell.model.queue_scale import MOST_COUNTED, MOST_SHOWN, QueueScale, Scale, add_up
from workbell.model.queue_state import PausedJob, QueueState
from workbell.runs.runtime import Runtime, in_thread
from workbell.stores.port import Counts, LaneLoad


class Queues:
    """The queues of a tenant: `bell.queues`."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def list(self) -> list[QueueState]:
        """The queues by name: those that have live runs, that a job is declared for, or that are paused."""
        runtime = self._runtime
        store, tenant = runtime.store, runtime.tenant
        lanes: defaultdict[str, list[Counts]] = defaultdict(list)
        for counts in store.reports.counts(tenant):
            lanes[counts.lane.queue].append(counts)
        pauses: defaultdict[str, list[Pause]] = defaultdict(list)
        for pause in store.pauses.list(tenant):
            if pause.queue is not None:
                pauses[pause.queue].append(pause)
        now = store.clock.now()
        return [_state(name, lanes[name], pauses[name], now) for name in sorted({*self._declared(), *lanes, *pauses})]

    def scale(self, queue: Sequence[str] = ()) -> Scale:
        """How much load there is for workers, by queue: for autoscalers. Of these queues, or of all that are known.

        A queue that was asked for is in the answer, whether anything is known of it or not. Of all queues, the 1,000
        that want most are, and the total counts every one.
        """
        if isinstance(queue, str):
            raise InvalidOption(f"queue: expected a list of names such as [{queue!r:.60}], got a text.")
        for name in queue:
            checked_name("queue", name, InvalidOption)
        store, tenant = self._runtime.store, self._runtime.tenant
        lanes: defaultdict[str, builtins.list[LaneLoad]] = defaultdict(builtins.list)
        for load in store.reports.load(tenant, queue or None, MOST_COUNTED):
            lanes[load.lane.queue].append(load)
        now = store.clock.now()
        names = queue or {*self._declared(), *lanes}
        queues = {name: add_up([_scale(load, now) for load in lanes[name]]) for name in names}
        total = add_up([*queues.values()])
        return Scale(queues=queues if queue else _most_wanted(queues), total=total)

    def _declared(self) -> set[str]:
        """Queues that a job is declared for."""
        runtime = self._runtime
        stored = runtime.store.jobs.list(runtime.tenant)
        return {job.queue for job in runtime.registry} | {job.queue for job in stored}

    alist, ascale = in_thread(list), in_thread(scale)  # noqa: A003


def _most_wanted(queues: Mapping[str, QueueScale]) -> dict[str, QueueScale]:
    """The queues with the most load, by name: there may be any number of queues, as their names are free."""
    most = nsmallest(MOST_SHOWN, queues, key=lambda name: (-queues[name].wanted, -queues[name].queued, name))
    return {name: queues[name] for name in sorted(most)}


def _scale(load: LaneLoad, now: datetime) -> QueueScale:
    if load.held:
        return QueueScale(queued=load.queued, running=load.running, wanted=load.running)
    since = load.due_since or now
    return QueueScale(
        queued=load.queued,
        running=load.running,
        due_seconds=max((now - since).total_seconds(), 0.0),
        wanted=load.queued + load.running,
    )


def _state(name: str, lanes: Sequence[Counts], pauses: Sequence[Pause], now: datetime) -> QueueState:
    whole = next((pause.since for pause in pauses if pause.job is None), None)
    since = min((one.due_since for one in lanes if one.due_since is not None and not one.held), default=now)
    return QueueState(
        name=name,
        scheduled=sum(counts.scheduled for counts in lanes),
        queued=sum(counts.queued for counts in lanes),
        running=sum(counts.running for counts in lanes),
        oldest_wait_seconds=max((now - since).total_seconds(), 0.0),
        capped=tuple(sorted({status for counts in lanes for status in counts.capped})),
        paused=whole is not None,
        paused_since=whole,
        paused_jobs=tuple(PausedJob(job=one.job, paused_since=one.since) for one in pauses if one.job is not None),
    )
