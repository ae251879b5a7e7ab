"""Alerts and pings: whether the end of a run goes to a URL, and the run of `webhook-alert` that sends it.

That run is part of the write that ends the other: one for each written end. It names the run and carries no URL, which
is read when it is sent. A job without URLs costs a read of its function; one that is not known here, a read of the
store every 10 seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from workbell.events.fan_out import DELIVERY_QUEUE
from workbell.model.alert import UNWATCHED, AlertKind, Watched
from workbell.model.ids import new_id
from workbell.model.job import ALERT, BUILT_IN, TENANT, Job
from workbell.model.run import Lane, NewRun, Run, Status

if TYPE_CHECKING:
    from workbell.handlers.registry import Registry
    from workbell.model.state import Transition
    from workbell.stores.port import Store
    from workbell.stores.publisher import Pair

CACHED_FOR = 10.0  # seconds that a stored job is cached
MOST_KNOWN = 1000  # jobs: a run for an agent may name any

KINDS_OF_STATUS = {Status.SUCCEEDED: (AlertKind.PING,), Status.FAILED: (AlertKind.ALERT, AlertKind.PING)}


def with_alerts(run: Run, change: Transition, watched: Watched) -> Transition:
    """A transition with the runs that send its alerts. Jobs of Workbell itself have none: an alert never alerts."""
    wanted = {AlertKind.ALERT: watched.alerts, AlertKind.PING: watched.pings}
    kinds = [kind for kind in KINDS_OF_STATUS.get(change.status, ()) if wanted[kind]]
    if not kinds or run.job in BUILT_IN:
        return change
    return msgspec.structs.replace(change, then=(*change.then, *(_request(run, kind, change) for kind in kinds)))


def _request(run: Run, kind: AlertKind, change: Transition) -> NewRun:
    now = change.updated_at
    # A lane for each job or schedule: a URL that never answers delays only its own alerts.
    lane = Lane(run.tenant, DELIVERY_QUEUE, ALERT, None, f"{kind}:{run.schedule or run.job}")
    text = msgspec.json.encode({"run": run.id, "kind": kind}).decode()
    return NewRun(Run(new_id(), lane, Status.QUEUED, 0, now, now, now, input_text=text))


class Alerting:
    """Finds which jobs have URLs: by their functions, or in the store. Those of a schedule are in its runs."""

    def __init__(self, store: Callable[[], Store], registry: Registry | None = None, tenant: str = TENANT) -> None:
        self._store = store
        self._registry = registry
        self._tenant = tenant  # for which the jobs of this program are stored
        self._known: dict[tuple[str, str], tuple[float, Watched]] = {}

    def of(self, run: Run, change: Transition) -> Transition:
        if change.status not in KINDS_OF_STATUS:
            return change
        watched = self._watched(run)
        return change if watched == UNWATCHED else with_alerts(run, change, watched)

    def may_alert(self, pairs: Sequence[Pair]) -> bool:
        """Whether any of these may need an alert or ping. Every run goes through here, so it is checked by job."""
        if any(run.schedule is not None for run, _ in pairs) or self._registry is None:
            return True
        found = [self._registry.find_for(*job) for job in {(run.lane.tenant, run.lane.job) for run, _ in pairs}]
        return any(function is None or function.watched is not UNWATCHED for function in found)

    def _watched(self, run: Run) -> Watched:
        function = None if self._registry is None else self._registry.find_for(run.tenant, run.job)
        by_job = self._stored(run) if function is None else function.watched
        if run.schedule is None or run.options_text is None:
            return by_job
        options = run.options
        return Watched(by_job.alerts or options.alerts, by_job.pings or options.pings)

    def _stored(self, run: Run) -> Watched:
        if run.job in BUILT_IN:
            return UNWATCHED
        store, key = self._store(), (run.tenant, run.job)
        moment = store.clock.monotonic()
        at, watched = self._known.get(key, (-CACHED_FOR, UNWATCHED))
        if moment - at >= CACHED_FOR:
            watched = watched_by(stored_job(store, run.tenant, run.job, self._tenant))
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[key] = (moment, watched)
        return watched


def watched_by(job: Job | None) -> Watched:
    return UNWATCHED if job is None else Watched(job.alert_url is not None, job.ping_url is not None)


def stored_job(store: Store, tenant: str, name: str, home: str) -> Job | None:
    """A stored job: of the tenant itself, else of the tenant that the program which declares it belongs to."""
    return store.jobs.find(tenant, name) or (store.jobs.find(home, name) if home != tenant else None)
