"""Descriptions of jobs in the API, for lists, ETags and live views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbell.client.local import LocalClient
from workbell.handlers.input_schema import schema_with_template
from workbell.http.etags import etag_of
from workbell.http.worker_facts import without_ids
from workbell.job_files.job_folder import JobFolder
from workbell.model.alert import shown_url
from workbell.model.capability import unserved
from workbell.model.job import Job
from workbell.model.payload import decode
from workbell.model.run_settings import SETTINGS
from workbell.model.worker import Worker

RETRY = ("attempts", "delay", "factor", "cap", "jitter", "give_up_on", "only_on")


def jobs_of(client: LocalClient, engine: JobFolder, own: str) -> Sequence[dict[str, Any]]:
    """Jobs of the code, which any tenant can run, and jobs that others have put into the store.

    What files say of them is known for the tenant of the program, `own`.
    """
    known = {job.name: job for job in client.jobs.list()}
    paused = {pause.job for pause in client.pauses() if pause.queue is None}
    files = {job.name: job for job in engine.list()} if client.tenant == own else {}
    workers = client.store.workers.list() if any(job.is_definition for job in known.values()) else ()
    return [_shown(client, known[name], paused, files.get(name), workers, own) for name in sorted(known)]


def job_shown(client: LocalClient, engine: JobFolder, own: str, job: Job) -> dict[str, Any]:
    """One job, just read or written."""
    paused = {pause.job for pause in client.pauses() if pause.queue is None}
    files = {one.name: one for one in engine.list()} if client.tenant == own else {}
    return _shown(client, job, paused, files.get(job.name), client.store.workers.list(), own)


def job_etag(shown: dict[str, Any]) -> str:
    """ETag of what users can change: neither when a worker declared it last, nor who takes its runs."""
    return etag_of({word: value for word, value in shown.items() if word not in ("updated_at", "unserved")})


def _shown(
    client: LocalClient, job: Job, paused: set[str | None], declared: Any, workers: Sequence[Worker], own: str
) -> dict[str, Any]:
    function = client.registry.find(job.handler if job.is_definition else job.name)
    now = client.store.clock.now()
    nobody = unserved(workers, job.queue, job.name, now, job) if job.is_definition else None
    if nobody is not None and client.tenant != own:
        nobody = without_ids(nobody, (worker.id for worker in workers))
    return {
        "id": job.id or None,
        "name": job.name,
        "tenant": job.tenant,
        "source": job.source,
        "enabled": job.enabled,
        "version": job.version,
        "handler": job.handler,
        "payload": decode(job.payload_template) if job.is_definition else None,
        "unserved": nobody,
        "created_at": job.created_at if job.id else None,
        "updated_at": job.updated_at if job.id else None,
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
        "input_schema": None if function is None else schema_with_template(function.signature.schema, job.payload),
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
