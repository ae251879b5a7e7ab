"""Jobs in the store: those that code declares, and definitions, which are data and written by `definitions.py`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from workbell.model.ids import FIRST_ID
from workbell.model.job import Job
from workbell.model.retry import Retry
from workbell.model.run_defaults import NO_DEFAULTS, from_text, to_text
from workbell.stores.database import Batch, Database, Row, Statement, read_rows
from workbell.stores.reading import Column, RowReader, object_text, optional, rate_text, written_back

JOB = (
    "id tenant name source handler queue description input priority retry timeout options concurrency "
    "concurrency_key rate rate_key processor alert_url ping_url enabled version created_at updated_at"
).split()
PAGE = 1000
RAISE = Statement("raise_definitions")

_retry = msgspec.json.Decoder(Retry)
Listed = list[Job]  # inside the class `list` is the verb


class StoredJobs:
    """Jobs, for other processes to read; code is found by name, never by these rows."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, jobs: Sequence[Job]) -> None:
        """Make jobs of code known, or change what is known of them; the id and the time of making stay."""
        if jobs:
            self._database.write([*(Statement("put_job", job_values(job)) for job in jobs), RAISE])

    def find(self, tenant: str, name: str) -> Job | None:
        found = read_rows(self._database, "find_job", tenant=tenant, name=name)
        return job_from_row(found[0]) if found else None

    def list(self, tenant: str) -> Listed:
        """The jobs of a tenant, by name: those of code, and definitions."""
        return [job_from_row(row) for row in read_rows(self._database, "list_jobs", tenant=tenant)]

    def export(self) -> Iterator[Listed]:
        """All jobs, in pages, by id."""
        after = FIRST_ID
        while page := [job_from_row(row) for row in read_rows(self._database, "export_jobs", after=after, limit=PAGE)]:
            yield page
            after = page[-1].id

    def loading(self, jobs: Sequence[Job]) -> Batch:
        """The statements that take over jobs of another store."""
        return [*(Statement("load_job", job_values(job)) for job in jobs), RAISE] if jobs else []


def job_values(job: Job) -> dict[str, Any]:
    retry = None if job.retry is None else msgspec.json.encode(job.retry).decode()
    said = msgspec.structs.replace(job.options, priority=None)  # it has a column of its own
    values = msgspec.structs.asdict(job) | {"retry": retry, "priority": job.priority, "options": to_text(said)}
    values["input"] = values.pop("input_text")
    return written_back(values, job.unreadable)


_rows = RowReader(
    JOB,
    "put it again, or delete it.",
    retry=Column(optional(_retry.decode)),
    options=Column(from_text, NO_DEFAULTS),
    input=Column(object_text),
    rate=Column(rate_text),
)


def job_from_row(row: Row) -> Job:
    values = _rows.read(row)
    values |= {"enabled": bool(values["enabled"]), "processor": bool(values["processor"])}
    values["input_text"] = values.pop("input")
    if priority := values.pop("priority"):
        values["options"] = msgspec.structs.replace(values["options"], priority=priority)
    return Job(**values)
