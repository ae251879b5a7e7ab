"""The local client: the verbs of Workbell for one tenant, on the store itself. Sync, and async with an `a`.

Each verb belongs to a part (`bell.runs`, `bell.schedules`, …) that holds the runtime; the most used ones are offered
here as well. `workbell.Client` has the same verbs over HTTP.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbell.claims.pauses import Pauses
from workbell.client.delegate import delegate
from workbell.events.emitting import Emitter
from workbell.events.executions import Executions
from workbell.notices.notifications import Notifications, Notifier
from workbell.process.first_use import on_first_use
from workbell.runs.enqueuing import Enqueuing
from workbell.runs.job_services import RuntimeServices
from workbell.runs.verbs import Runs
from workbell.runs.workers import Workers

if TYPE_CHECKING:
    from workbell.access.audit import Audit
    from workbell.access.tenants import Tenants
    from workbell.access.tokens import Tokens
    from workbell.access.verified import Verified
    from workbell.events.triggers import Triggers
    from workbell.events.verbs import Events
    from workbell.files.verbs import Files
    from workbell.handlers.registry import Registry
    from workbell.runs.jobs import Jobs
    from workbell.runs.queues import Queues
    from workbell.runs.runtime import Runtime
    from workbell.scheduling.schedules import Schedules
    from workbell.stores.port import Store
    from workbell.webhooks.verbs import Webhooks

# Attributes for Workbell's own layers: they have no page in the reference, so completion leaves them out.
_INSIDE = frozenset({"host", "one_shot", "recipe", "registry", "runtime", "settings", "store", "verified"})


class LocalClient:
    """Client for one tenant, on the store itself: verbs from parts. `Workbell` is one, for its own tenant."""

    def __init__(self, runtime: Runtime, verified: Verified | None = None) -> None:
        self.runtime = runtime  # for Workbell's own layers: what the parts share
        self._services = RuntimeServices(runtime)
        if verified is not None:
            self.verified = verified

    # Parts. A module of verbs that the client does not offer itself is loaded with its part.

    @on_first_use
    def verified(self) -> Verified:
        from workbell.access.verified import Verified

        return Verified(self.runtime)

    @on_first_use
    def runs(self) -> Runs:
        return Runs(self.runtime, self._services.enqueuing)

    @on_first_use
    def workers(self) -> Workers:
        return Workers(self.runtime)

    @on_first_use
    def pauses(self) -> Pauses:
        return Pauses(self.runtime)

    @on_first_use
    def queues(self) -> Queues:
        from workbell.runs.queues import Queues

        return Queues(self.runtime)

    @on_first_use
    def jobs(self) -> Jobs:
        from workbell.runs.jobs import Jobs

        return Jobs(self.runtime)

    @on_first_use
    def schedules(self) -> Schedules:
        from workbell.scheduling.schedules import Schedules

        return Schedules(self.runtime, self._services.enqueuing)

    @on_first_use
    def triggers(self) -> Triggers:
        from workbell.events.triggers import Triggers

        return Triggers(self.runtime)

    @on_first_use
    def events(self) -> Events:
        from workbell.events.verbs import Events

        return Events(self.runtime)

    @on_first_use
    def executions(self) -> Executions:
        return Executions(self.runtime, self.runs, self.triggers, self.events)

    @on_first_use
    def webhooks(self) -> Webhooks:
        from workbell.webhooks.verbs import Webhooks

        return Webhooks(self.runtime, self.runs)

    @on_first_use
    def tokens(self) -> Tokens:
        from workbell.access.tokens import Tokens

        return Tokens(self.runtime, self.verified)

    @on_first_use
    def tenants(self) -> Tenants:
        from workbell.access.tenants import Tenants

        return Tenants(self.runtime)

    @on_first_use
    def audit(self) -> Audit:
        from workbell.access.audit import Audit

        return Audit(self.runtime)

    @on_first_use
    def notifications(self) -> Notifications:
        return Notifications(self.runtime)

    @on_first_use
    def files(self) -> Files:
        from workbell.files.verbs import Files

        return Files(self.runtime)

    @property
    def store(self) -> Store:
        """The store that the verbs read and write."""
        return self.runtime.store

    @store.setter
    def store(self, store: Store) -> None:
        self.runtime.use_store(store)

    @property
    def registry(self) -> Registry:
        """The jobs of this process."""
        return self.runtime.registry

    @property
    def tenant(self) -> str:
        """The tenant whose runs these are."""
        return self.runtime.tenant

    def __dir__(self) -> list[str]:
        """Names for completion: what users may call."""
        return [name for name in super().__dir__() if name not in _INSIDE]

    def for_tenant(self, tenant: str) -> LocalClient:
        """The same verbs for another tenant, on the same store; what they share ends with this one."""
        return LocalClient(self.runtime.for_tenant(tenant), self.verified)

    def close(self) -> None:
        """End the threads of the verbs; the store stays open. A client of `for_tenant` has none of its own."""
        self.runtime.close()

    # Enqueue
    request = delegate(Enqueuing.request, "_services.enqueuing")
    enqueue = delegate(Enqueuing.enqueue, "_services.enqueuing")
    aenqueue = delegate(Enqueuing.aenqueue, "_services.enqueuing")
    enqueue_many = delegate(Enqueuing.enqueue_many, "_services.enqueuing")
    aenqueue_many = delegate(Enqueuing.aenqueue_many, "_services.enqueuing")
    after_commit = delegate(Enqueuing.after_commit, "_services.enqueuing")

    # Runs
    aruns = delegate(Runs.acall, "runs")
    page_of_runs = delegate(Runs.page, "runs")
    apage_of_runs = delegate(Runs.apage, "runs")
    count_runs = delegate(Runs.count, "runs")
    acount_runs = delegate(Runs.acount, "runs")
    get = delegate(Runs.get, "runs")
    aget = delegate(Runs.aget, "runs")
    attempts = delegate(Runs.attempts, "runs")
    aattempts = delegate(Runs.aattempts, "runs")
    why = delegate(Runs.why, "runs")
    awhy = delegate(Runs.awhy, "runs")
    cancel = delegate(Runs.cancel, "runs")
    acancel = delegate(Runs.acancel, "runs")
    retry = delegate(Runs.retry, "runs")
    aretry = delegate(Runs.aretry, "runs")
    wait = delegate(Runs.wait, "runs")
    await_ = delegate(Runs.await_, "runs")
    bulk = delegate(Runs.bulk, "runs")
    abulk = delegate(Runs.abulk, "runs")
    logs = delegate(Runs.logs, "runs")
    alogs = delegate(Runs.alogs, "runs")
    watch = delegate(Runs.watch, "runs")
    awatch = delegate(Runs.awatch, "runs")

    # Events
    emit = delegate(Emitter.emit, "_services.emitter")
    aemit = delegate(Emitter.aemit, "_services.emitter")
    aexecutions = delegate(Executions.acall, "executions")
    execution = delegate(Executions.get, "executions")
    aexecution = delegate(Executions.aget, "executions")
    invocations = delegate(Executions.invocations, "executions")
    ainvocations = delegate(Executions.ainvocations, "executions")

    # Workers and pauses
    aworkers = delegate(Workers.acall, "workers")
    drain_worker = delegate(Workers.drain, "workers")
    adrain_worker = delegate(Workers.adrain, "workers")
    resume_worker = delegate(Workers.resume, "workers")
    aresume_worker = delegate(Workers.aresume, "workers")
    pause = delegate(Pauses.pause, "pauses")
    apause = delegate(Pauses.apause, "pauses")
    resume = delegate(Pauses.resume, "pauses")
    aresume = delegate(Pauses.aresume, "pauses")
    apauses = delegate(Pauses.acall, "pauses")

    # People
    notify = delegate(Notifier.notify, "_services.notifier")
    anotify = delegate(Notifier.anotify, "_services.notifier")
    broadcast = delegate(Notifier.broadcast, "_services.notifier")
    abroadcast = delegate(Notifier.abroadcast, "_services.notifier")
