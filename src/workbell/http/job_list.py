"""Descriptions of jobs in the API, for lists, ETags and live views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbell.client.local import LocalClient
from workbell.job_files.job_folder import JobFolder
from workbell.model.alert import shown_url
from workbell.model.job import Job
from workbell.model.run_settings import SETTINGS

RETRY = ("attempts", "delay", "factor", "cap", "jitter")


def jobs_of(client: LocalClient, engine: JobFolder, own: str) -> Sequence[dict[str, Any]]:
    """Jobs of the code, which any tenant can run, and jobs that others have put into the store.

    What files say of them is known for the tenant of the program, `own`.
    """
    known = known_jobs(client)
    paused = {pause.job for pause in client.pauses() if pause.queue is None}
    files = {job.name: job for job in engine.list()} if client.tenant == own else {}
    return [_shown(client, known[name], paused, files.get(name)) for name in sorted(known)]


def known_jobs(client: LocalClient) -> dict[str, Job]:
    """The definitions by name: as the code here has them, else as others have put them."""
    known = {job.name: job for job in client.store.jobs.list(client.tenant)}
    return known | {job.name: job for job in client.registry.definitions(client.store.clock, client.tenant)}


def _shown(client: LocalClient, job: Job, paused: set[str | None], declared: Any) -> dict[str, Any]:
    function = client.registry.find(job.name)
    return {
        "name": job.name,
        "handler": job.handler,
        "file_path": None if declared is None else declared.file_path,
        "here": function is not None,
        "description": job.description,
        **{word: getattr(job.options, word) for word in SETTINGS},
        "queue": job.queue,
        "retry": None if job.retry is None else {name: getattr(job.retry, name) for name in RETRY},
        "timeout": job.timeout,
        **job.limits._asdict(),
        "processor": job.processor,
        "paused": job.name in paused,
        "schedule": None if declared is None else declared.schedule,
        "on": [] if declared is None else [*declared.on],
        "alert_url": shown_url(job.alert_url),
        "ping_url": shown_url(job.ping_url),
        "input_schema": None if function is None else function.signature.schema,
    }


def reloads_of(client: LocalClient, engine: JobFolder, own: str, limit: int | None = None) -> Sequence[dict[str, Any]]:
    """Reloads of job files, newest first. They are the program's, and so of its tenant alone."""
    return [
        {
            "id": str(one.number),
            "at": one.at,
            "path": one.path,
            "outcome": one.outcome,
            "message": one.message,
            "line": one.line,
            "jobs": one.jobs,
            "standing": one.standing,
        }
        for one in (engine.reloads.newest(limit) if client.tenant == own else ())
    ]
