"""Definitions in the store: jobs that are data, written under guards.

Every change raises a version number, in the same transaction: a process that caches definitions reads that alone.
"""

from __future__ import annotations

from workbell.model.job import Job
from workbell.stores.database import Database, Statement, read_rows
from workbell.stores.jobs.jobs import RAISE, job_from_row, job_values
from workbell.stores.pending_entry import write_guarded

Listed = list[Job]  # inside the class `list` is the verb


class StoredDefinitions:
    """The part `definitions`; they stand in the table of jobs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def write(self, job: Job, expected: int | None) -> bool:
        """A new definition (`expected` is none) if its name is free, or a change if it still has this version."""
        if expected is None:
            change = Statement("add_definition", job_values(job))
        else:
            change = Statement("update_definition", job_values(job) | {"expected": expected, "version": expected + 1})
        return bool(write_guarded(self._database, change, RAISE))

    def delete(self, job: Job) -> bool:
        """Remove a job, if it still has this version and nothing would start it; also one whose code is gone."""
        key = {"id": job.id, "expected": job.version, "source": job.source, "tenant": job.tenant, "name": job.name}
        return bool(write_guarded(self._database, Statement("delete_job", key), RAISE))

    def list(self) -> Listed:
        """The definitions of all tenants, without the jobs of code."""
        return [job_from_row(row) for row in read_rows(self._database, "definitions")]

    def version(self) -> int:
        """The version number: whoever caches definitions reads this alone."""
        return int(read_rows(self._database, "definitions_version")[0][0])
