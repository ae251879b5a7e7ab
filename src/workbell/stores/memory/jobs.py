"""Jobs that code declares, in a dict."""

from __future__ import annotations

import builtins
from collections.abc import Sequence

import msgspec

from workbell.model.job import Job
from workbell.stores.memory.state import State


class MemoryJobs:
    """The part `jobs`."""

    def __init__(self, state: State) -> None:
        self._state = state

    def put(self, jobs: Sequence[Job]) -> None:
        with self._state.lock:
            for job in jobs:
                old = self.find(job.tenant, job.name)
                unchanged = {} if old is None else {"id": old.id, "created_at": old.created_at, "version": old.version}
                self._state.jobs[job.tenant, job.name] = msgspec.structs.replace(job, **unchanged)

    def find(self, tenant: str, name: str) -> Job | None:
        return self._state.jobs.get((tenant, name))

    def list(self, tenant: str) -> builtins.list[Job]:
        with self._state.lock:
            found = [job for job in self._state.jobs.values() if job.tenant == tenant]
        return sorted(found, key=lambda job: job.name)
