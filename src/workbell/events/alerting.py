"""Whether the end of a run is told at a URL, and the run of `webhook-alert` that does it.

That run is made by the write that ends the other: one for each end, whoever writes it, and none for an end that was
not written. It names the run and carries no URL, which is looked up when it is sent. A job without URLs costs a look at
its function; one that is not known here, a look into the store now and then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from workbell.events.fan_out import DELIVERY_QUEUE
from workbell.handlers.registry import Registry
from workbell.model.alert import UNWATCHED, AlertKind, Watched
from workbell.model.ids import new_id
from workbell.model.job import ALERT, BUILT_IN, TENANT, Job
from workbell.model.run import Lane, NewRun, Run, Status
from workbell.model.state import Transition
from workbell.stores.port import Store
from workbell.stores.publisher import Pair

FRESH = 10.0  # seconds that what the store says of a job is good for
MOST_KNOWN = 1000  # jobs: a run for an agent may name any

TELLS = {Status.SUCCEEDED: (AlertKind.PING,), Status.FAILED: (AlertKind.ALERT, AlertKind.PING)}


def with_alerts(run: Run, change: Transition, watched: Watched) -> Transition:
    """A transition with the runs that tell of it. Of what Workbell does itself nothing is told: an alert never
    alerts."""
    wanted = {AlertKind.ALERT: watched.alerts, AlertKind.PING: watched.pings}
    kinds = [kind for kind in TELLS.get(change.status, ()) if wanted[kind]]
    if not kinds or run.job in BUILT_IN:
        return change
    return msgspec.structs.replace(change, then=(*change.then, *(_request(run, kind, change) for kind in kinds)))


def _request(run: Run, kind: AlertKind, change: Transition) -> NewRun:
    now = change.updated_at
    # A URL that never answers holds up only its own.
    lane = Lane(run.tenant, DELIVERY_QUEUE, ALERT, None, f"{kind}:{run.schedule or run.job}")
    text = msgspec.json.encode({"run": run.id, "kind": kind}).decode()
    return NewRun(Run(new_id(), lane, Status.QUEUED, 0, now, now, now, input_text=text))


class Alerting:
    """Knows which jobs have URLs: from their functions, or from the store. Of a schedule its runs know it."""

    def __init__(self, store: Callable[[], Store], registry: Registry | None = None, tenant: str = TENANT) -> None:
        self._store = store
        self._registry = registry
        self._tenant = tenant  # for which the jobs of this program are stored
        self._known: dict[tuple[str, str], tuple[float, Watched]] = {}

    def of(self, run: Run, change: Transition) -> Transition:
        if change.status not in TELLS:
            return change
        watched = self._watched(run)
        return change if watched == UNWATCHED else with_alerts(run, change, watched)

    def may_alert(self, pairs: Sequence[Pair]) -> bool:
        """Whether any of these may have to be told at a URL. Every run goes through here, so it is asked by job."""
        if any(run.schedule is not None for run, _ in pairs) or self._registry is None:
            return True
        found = [self._registry.find(name) for name in {run.lane.job for run, _ in pairs}]
        return any(function is None or function.watched is not UNWATCHED for function in found)

    def _watched(self, run: Run) -> Watched:
        function = None if self._registry is None else self._registry.find(run.job)
        by_job = self._stored(run) if function is None else function.watched
        if run.schedule is None or run.options_text is None:
            return by_job
        options = run.options
        return Watched(by_job.alerts or options.alerts, by_job.pings or options.pings)

    def _stored(self, run: Run) -> Watched:
        if run.job in BUILT_IN:
            return UNWATCHED
        store, place = self._store(), (run.tenant, run.job)
        moment = store.clock.monotonic()
        at, watched = self._known.get(place, (-FRESH, UNWATCHED))
        if moment - at >= FRESH:
            watched = watched_by(stored_job(store, run.tenant, run.job, self._tenant))
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[place] = (moment, watched)
        return watched


def watched_by(job: Job | None) -> Watched:
    return UNWATCHED if job is None else Watched(job.alert_url is not None, job.ping_url is not None)


def stored_job(store: Store, tenant: str, name: str, home: str) -> Job | None:
    """A job as it is stored: for the tenant itself, else for the one that the program which has it belongs to."""
    return store.jobs.find(tenant, name) or (store.jobs.find(home, name) if home != tenant else None)
