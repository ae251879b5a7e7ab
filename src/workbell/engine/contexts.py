"""Contexts of handlers: what `ctx` can do, for the tenant of the run."""

from __future__ import annotations

from workbell.engine.progress_and_logs import ProgressAndLogs
from workbell.engine.work import Work
from workbell.handlers.context import Context
from workbell.runs.job_services import RuntimeServices
from workbell.runs.runtime import Runtime


class Contexts:
    def __init__(self, runtime: Runtime, reports: ProgressAndLogs) -> None:
        self._runtime = runtime
        self._services = {runtime.tenant: RuntimeServices(runtime)}
        self._reports = reports

    def make(self, work: Work) -> Context | None:
        """None, if the handler takes no context."""
        if not work.job.signature.wants_context:
            return None
        reports = self._reports
        return Context(
            work.run, self.services_of(work.run.tenant), reports.progress, lambda: work.stopping, reports.save_line
        )

    def services_of(self, tenant: str) -> RuntimeServices:
        """Services for the tenant of a run: what its handler enqueues belongs to that tenant."""
        if tenant not in self._services:
            self._services[tenant] = RuntimeServices(self._runtime.for_tenant(tenant))
        return self._services[tenant]
