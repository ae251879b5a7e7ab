"""Registry of the jobs that this process can run, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from workbell.errors import JobsError
from workbell.handlers.resources import Resources
from workbell.handlers.worker_start import WorkerStart
from workbell.model.ids import new_id
from workbell.model.job import BUILT_IN, Job
from workbell.process.first_use import on_first_use

if TYPE_CHECKING:
    from workbell.handlers.job_function import JobFunction
    from workbell.handlers.run_hooks import RunHook
    from workbell.model.clock import Clock


def nothing_defined(_tenant: str, _name: str) -> Job | None:
    """No store is there that could have definitions."""
    return None


class Registry:
    """Jobs by name. A second function of the same name is refused: it would silently take the first one's runs."""

    def __init__(self, resources: Resources | None = None) -> None:
        self.resources = resources or Resources()  # for their handlers
        self._jobs: dict[str, JobFunction[Any, Any]] = {}
        self._plain_hooks: list[RunHook] = []  # one list for all plain jobs: a hook may be declared after them
        self._async_hooks: list[RunHook] = []
        self.worker_start = WorkerStart()
        self.make_built_in: Callable[[], Iterable[JobFunction[Any, Any]]] = tuple
        self.find_definition: Callable[[str, str], Job | None] = nothing_defined  # of a tenant, by name; see Runtime
        self._defined: dict[tuple[str, str], tuple[Job, JobFunction[Any, Any], JobFunction[Any, Any]]] = {}

    def add(self, job: JobFunction[Any, Any]) -> None:
        known = self._jobs.get(job.name)
        if known is not None and known.handler != job.handler:
            raise JobsError(
                f"job {job.name}: declared by {known.handler} and by {job.handler}; give one of them another name= ."
            )
        if job.name in BUILT_IN:
            raise JobsError(f"job {job.name}: Workbell itself has a job of this name; choose another.")
        self.check_hooks(job.name, is_async=job.is_async)
        job.hooks = self.hooks_of(is_async=job.is_async)
        self._jobs[job.name] = job

    @on_first_use
    def _built_in(self) -> dict[str, JobFunction[Any, Any]]:
        """Workbell's own jobs that can be run here: served by every worker, hidden from users."""
        return {job.name: job for job in self.make_built_in()}

    def prepare_built_in(self) -> None:
        """Load Workbell's own jobs now: before an engine begins, and not between its first claims."""
        _ = self._built_in

    def add_built_in(self, job: JobFunction[Any, Any]) -> None:
        """Add a job of Workbell itself. The application's hooks are not for it."""
        self._built_in[job.name] = job

    def replace(self, jobs: Sequence[JobFunction[Any, Any]], dropped: Iterable[str]) -> None:
        """Add or replace jobs and drop others in one assignment, so that readers see all changes or none."""
        gone = set(dropped)
        others = {name: job for name, job in self._jobs.items() if name not in gone}
        for job in jobs:
            job.hooks = self.hooks_of(is_async=job.is_async)
        self._jobs = others | {job.name: job for job in jobs}

    # Hooks

    def add_hook(self, hook: RunHook) -> None:
        for job in self:
            hook.check_job(job.name, is_async=job.is_async)
        for is_async in (False, True):
            if hook.surrounds(is_async=is_async):
                self.hooks_of(is_async=is_async).append(hook)

    def hooks_of(self, *, is_async: bool) -> list[RunHook]:
        """Hooks around runs of async or of plain handlers, the outermost first."""
        return self._async_hooks if is_async else self._plain_hooks

    def check_hooks(self, job: str, *, is_async: bool) -> None:
        """Raise if a hook that was declared before cannot surround this job."""
        for hook in self.hooks_of(is_async=is_async):
            hook.check_job(job, is_async=is_async)

    # Find

    def find(self, name: str) -> JobFunction[Any, Any] | None:
        return self._jobs.get(name) or (self._built_in.get(name) if name in BUILT_IN else None)

    def find_for(self, tenant: str, name: str) -> JobFunction[Any, Any] | None:
        """The job that executes a tenant's runs of this name: of the code here, else a definition of such a job.

        Code comes first. A definition that is disabled, or whose handler is not here, has none: its runs wait.
        """
        found = self.find(name)
        if found is not None:
            return found
        definition = self.find_definition(tenant, name)
        code = None if definition is None or not definition.enabled else self._jobs.get(definition.handler)
        if definition is None or code is None:
            self._defined.pop((tenant, name), None)
            return None
        known = self._defined.get((tenant, name))
        if known is None or known[0] is not definition or known[1] is not code:
            known = self._defined[tenant, name] = (definition, code, code.defined_as(definition))
        return known[2]

    @property
    def served(self) -> list[str]:
        """Names of all jobs that can be run here, built-in ones too."""
        return sorted({**self._jobs, **self._built_in})

    def __iter__(self) -> Iterator[JobFunction[Any, Any]]:
        return iter(self._jobs.values())

    def __contains__(self, name: object) -> bool:
        return name in self._jobs or (name in BUILT_IN and name in self._built_in)

    def __len__(self) -> int:
        return len(self._jobs)

    def sealed_jobs(self, clock: Clock, tenant: str) -> list[Job]:
        """The jobs of the code as they are stored: URLs are sealed if there is a key."""
        from workbell.trust.sealing import Sealer

        sealer = Sealer.from_setting(self.resources.secret_key)

        def sealed(url: str | None) -> str | None:
            return None if url is None else sealer.seal_url(url)

        return [
            msgspec.structs.replace(job, alert_url=sealed(job.alert_url), ping_url=sealed(job.ping_url))
            for job in self.declared_jobs(clock, tenant)
        ]

    def declared_jobs(self, clock: Clock, tenant: str) -> list[Job]:
        """The jobs of the code as values, without built-in ones."""
        now = clock.now()
        return [
            Job(
                id=new_id(),
                name=job.name,
                handler=job.handler,
                tenant=tenant,
                queue=job.queue,
                description=job.description.splitlines()[0] if job.description else "",
                retry=job.retry,
                timeout=job.timeout,
                concurrency=job.limits.concurrency,
                concurrency_key=job.limits.concurrency_key,
                rate=job.limits.rate,
                rate_key=job.limits.rate_key,
                processor=job.processor,
                alert_url=job.alert_url,
                ping_url=job.ping_url,
                options=job.defaults,
                created_at=now,
                updated_at=now,
            )
            for job in self
        ]
