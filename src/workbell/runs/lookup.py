"""Runs of a tenant: found by an id, shown with their retries, and why one is not running."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from workbell.errors import RunNotFound
from workbell.model.ids import id_of, is_id
from workbell.model.job import BUILT_IN, DELIVERY, Job
from workbell.model.limit import Limit, Use, limit_of_tenant, limits_on
from workbell.model.run import Run, Status

if TYPE_CHECKING:
    from workbell.model.worker import Worker
    from workbell.runs.runtime import Runtime
    from workbell.stores.port import Store
    from workbell.wire.runs import FoundRun

NOWHERE = (
    "There is no job {job!r} in the store: its definition was deleted, or no worker that declares it has started yet; "
    "put it again with `workbell jobs put {job}`, or start such a worker."
)


def find_run(runtime: Runtime, run_id: str) -> Run:
    """A run of the tenant by its id, or by the one that it was imported with."""
    own = id_of(run_id)
    run = runtime.store.runs.find([own]).get(own)
    if run is None or run.tenant != runtime.tenant:
        raise RunNotFound(f"There is no run {run_id!r} of tenant {runtime.tenant}; it may have been removed.")
    return run


class Why(NamedTuple):
    """Why a run is not running (or how it ended), in a sentence or two; and the workers that the sentence may name."""

    text: str
    workers: Sequence[str]


def found_runs(runtime: Runtime, runs: Sequence[Run]) -> list[FoundRun]:
    """Runs with their newest retries, in one read of the store: only finished runs can have been retried."""
    from workbell.wire.runs import FoundRun, RetriedBy

    retries = runtime.store.reports.retries([run.id for run in runs if run.status.final])
    shown = {run_id: RetriedBy(id=retry.id, status=retry.status) for run_id, retry in retries.items()}
    return [FoundRun.of(run, retried_by=shown.get(run.id)) for run in runs]


def why_waiting(runtime: Runtime, run: Run) -> Why:
    """Why a run is where it is, and what the store forgot in a rewind."""
    from workbell.model.rewind import executed_before

    rewinds = runtime.store.rewinds.of_run(run.id)
    text, workers = _where_it_stands(runtime, run)
    text = f"{text} {executed_before(rewinds)}".rstrip()
    return Why(text, [*filter(None, [run.worker]), *workers, *(rewind.worker for rewind in rewinds)])


def _where_it_stands(runtime: Runtime, run: Run) -> Why:
    from workbell.model.capability import capability, unserved
    from workbell.runs.why import explain

    store = runtime.store
    now = store.clock.now()
    if run.status is not Status.QUEUED:
        return Why(explain(run, now), ())
    known = runtime.registry.find(run.job)
    stored = None if known is not None else store.jobs.find(run.tenant, run.job)
    definition = stored if stored is not None and stored.is_definition else None
    code = run.job if definition is None else definition.handler
    listed = None if run.target is not None else store.workers.list()
    missing = None
    if definition is not None and (listed is not None or not definition.enabled):
        missing = unserved(listed or (), run.queue, run.job, now, definition)
    elif listed is not None and known is None and stored is None and run.job not in BUILT_IN:
        missing = _undeclared(run, [worker for worker in listed if worker.is_alive(now)])
    text = explain(
        run,
        now,
        ahead=store.reports.ahead_of(run),
        running=store.reports.running_beside(run),  # not from the counts: for those all that waits is counted
        pause=next((one for one in store.pauses.list(run.tenant) if one.covers(run.lane)), None),
        held=_full_limits(runtime, run, stored, now),
        missing=missing,
        workers=None if listed is None else capability(listed, run.queue, code, now),
        agents=[one for one in store.agents.list(run.tenant) if run.target in one.targets]
        if run.target is not None
        else (),
        brake=_brake(store, run),
        handler=code,
    )
    return Why(text, [worker.id for worker in listed or ()])


def _undeclared(run: Run, alive: Sequence[Worker]) -> str | None:
    """A sentence about a job that is not in the store. Without any worker that is no wonder, and not the first thing
    to say: a worker declares its jobs when it starts."""
    if not alive or any(run.job in worker.jobs for worker in alive):
        return None
    return NOWHERE.format(job=run.job)


def _brake(store: Store, run: Run) -> str | None:
    """A sentence about the endpoint of a delivery, if it fails so often that it is only tried now and then."""
    from workbell.webhooks.slowed import slowed

    endpoint = (
        store.subscribers.find_endpoint(run.lane.key or "") if run.job == DELIVERY and is_id(run.lane.key) else None
    )
    found = None if endpoint is None else slowed(store, endpoint)
    if endpoint is None or found is None:
        return None
    return f"Its endpoint {endpoint.shown_url} is {found.words}. It spends no attempt meanwhile. {found.remedy}"


def _full_limits(runtime: Runtime, run: Run, stored: Job | None, now: datetime) -> list[tuple[Limit, Use]]:
    """The limits of a run's job that leave nothing."""
    store = runtime.store
    known = runtime.registry.find(run.job)
    limits: Sequence[Limit] = ()
    if known is not None:
        limits = known.limits_of(run.lane)
    elif stored is not None:
        limits = limits_on(stored.limits, run.lane)
    tenant = store.tenants.find([run.tenant]).get(run.tenant)
    of_tenant = None if tenant is None else limit_of_tenant(tenant.name, tenant.concurrency, tenant.rate)
    limits = limits if of_tenant is None else (*limits, of_tenant)
    uses = store.limits.uses(limits)
    return [(limit, uses[limit.id]) for limit in limits if not limit.room(uses[limit.id], now)]
