"""Definitions of jobs, in a dict."""

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
            self._state.definitions += 1

    def write_definition(self, job: Job, expected: int | None) -> bool:
        with self._state.lock:
            old = self.find(job.tenant, job.name)
            if expected is None:
                written = old is None
            else:
                written = old is not None and old.is_definition and (old.id, old.version) == (job.id, expected)
                job = msgspec.structs.replace(job, version=expected + 1)
            if written:
                self._state.jobs[job.tenant, job.name] = job
            self._state.definitions += 1
            return written

    def delete(self, job: Job) -> bool:
        key = (job.tenant, job.name)
        with self._state.lock:
            old = self._state.jobs.get(key)
            named = any((one.tenant, one.job) == key for one in self._state.schedules.values())
            if old is None or (old.id, old.version, old.source) != (job.id, job.version, job.source) or named:
                return False
            del self._state.jobs[key]
            self._state.definitions += 1
            return True

    def definitions(self) -> builtins.list[Job]:
        with self._state.lock:
            found = [job for job in self._state.jobs.values() if job.is_definition]
        return sorted(found, key=lambda job: (job.tenant, job.name))

    def version(self) -> int:
        return self._state.definitions

    def find(self, tenant: str, name: str) -> Job | None:
        return self._state.jobs.get((tenant, name))

    def list(self, tenant: str) -> builtins.list[Job]:
        with self._state.lock:
            found = [job for job in self._state.jobs.values() if job.tenant == tenant]
        return sorted(found, key=lambda job: job.name)
