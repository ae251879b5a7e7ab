"""Workers as a caller may see them: whole for operators; for others what concerns their own runs.

An operator is whoever may act for the tenant of the program (`ApiCall.is_operator`). Others learn neither hosts,
processes and versions nor what their workers do for other tenants; a worker has an alias instead of its id, which
names its host.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec

from workbell.model.worker import SeenWorker, alias_of
from workbell.wire.workers import WorkerShown


def for_tenant(seen: SeenWorker, jobs: Collection[str]) -> WorkerShown:
    """A worker for a tenant that has these jobs: `busy` counts its own runs."""
    return msgspec.structs.replace(
        WorkerShown.of(seen),
        id=alias_of(seen.worker.id),
        host="",
        pid=0,
        incarnation="",
        version="",
        jobs=tuple(job for job in seen.worker.jobs if job in jobs),
        busy=len(seen.runs),
    )


def without_ids(text: str, ids: Iterable[str]) -> str:
    """A sentence for a tenant: ids of workers in it are aliases."""
    for worker_id in ids:
        text = text.replace(worker_id, alias_of(worker_id))
    return text
