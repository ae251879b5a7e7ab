"""Jobs as the API shows them, for lists, ETags and live views; and the reloads of job files."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from workbell.client.local import LocalClient
from workbell.handlers.input_schema import schema_with_template
from workbell.http.features.worker_facts import without_ids
from workbell.http.framework.bounded_pages import BoundedPage, PageSource, by_name, read_page
from workbell.http.framework.versions import etag_of
from workbell.job_files.job_folder import JobFolder, RegisteredJob
from workbell.model.capability import unserved
from workbell.model.job import Job
from workbell.model.worker import Worker
from workbell.wire.jobs import JobShown, ReloadShown

OF_ITS_OWN = frozenset({"updated_at", "unserved"})  # change without anybody's doing


class _Facts(NamedTuple):
    """Facts about jobs that are not stored with them, read once for all jobs of an answer."""

    client: LocalClient
    own: str  # the tenant of the program
    paused: frozenset[str | None]
    files: Mapping[str, RegisteredJob]
    workers: Sequence[Worker]

    def show(self, job: Job) -> JobShown:
        function = self.client.registry.find(job.handler if job.is_definition else job.name)
        file = self.files.get(job.name)
        return JobShown.of(
            job,
            unserved=self._unserved(job),
            paused=job.name in self.paused,
            here=function is not None,
            file_path=None if file is None else file.file_path,
            schedule=None if file is None else file.schedule,
            on=() if file is None else file.on,
            input_schema=None if function is None else schema_with_template(function.signature.schema, job.input),
        )

    def _unserved(self, job: Job) -> str | None:
        if not job.is_definition:
            return None
        why = unserved(self.workers, job.queue, job.name, self.client.store.clock.now(), job)
        if why is None or self.client.tenant == self.own:
            return why
        return without_ids(why, (worker.id for worker in self.workers))


def _facts(client: LocalClient, folder: JobFolder, own: str, jobs: Sequence[Job]) -> _Facts:
    """Facts about these jobs. What files say of them is known for the tenant of the program, `own`."""
    paused = frozenset(pause.job for pause in client.pauses() if pause.queue is None)
    files = {job.name: job for job in folder.list()} if client.tenant == own else {}
    workers = client.store.workers.list() if any(job.is_definition for job in jobs) else ()
    return _Facts(client, own, paused, files, workers)


def jobs_of(client: LocalClient, folder: JobFolder, own: str) -> Sequence[JobShown]:
    """Jobs of the code, which any tenant can run, and jobs that others have put into the store, by name."""
    jobs = client.jobs.list()
    facts = _facts(client, folder, own, jobs)
    return [facts.show(job) for job in jobs]


def page_of_jobs(client: LocalClient, folder: JobFolder, own: str, after: str, limit: int) -> BoundedPage[Job]:
    """A page of the same jobs, those whose names come after this one."""
    jobs = client.jobs.list()

    def read(cursor: str | None, number: int) -> Sequence[Job]:
        start = bisect_right(jobs, cursor or "", key=by_name)
        return jobs[start : start + number]

    return read_page(PageSource(read, by_name, _facts(client, folder, own, jobs).show), after, limit)


def job_shown(client: LocalClient, folder: JobFolder, own: str, job: Job) -> JobShown:
    """One job, just read or written."""
    return _facts(client, folder, own, [job]).show(job)


def job_etag(shown: JobShown) -> str:
    """ETag of what users can change: neither when a worker declared it last, nor who takes its runs."""
    return etag_of([getattr(shown, name) for name in shown.__struct_fields__ if name not in OF_ITS_OWN])


def reloads_of(client: LocalClient, folder: JobFolder, own: str, limit: int | None = None) -> list[ReloadShown]:
    """Reloads of job files, newest first. They are the program's, and so of its tenant alone."""
    return [ReloadShown.of(one) for one in (folder.reloads.newest(limit) if client.tenant == own else ())]
