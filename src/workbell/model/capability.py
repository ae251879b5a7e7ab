"""Capable workers: how many workers could run a job, and the sentence for people if none can. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from workbell.model.job import ALERT, DELIVERY, Job
from workbell.model.worker import Worker


class Capability(NamedTuple):
    """How many living workers there are, and how many of them could take runs of a queue and job."""

    alive: int
    know_job: int  # whichever queues they serve
    stopping: int  # would take them, if they were not about to end
    able: int
    drained: tuple[str, ...] = ()  # workers that would take them, if they were not drained


def capability(workers: Iterable[Worker], queue: str, job: str, now: datetime) -> Capability:
    alive = [worker for worker in workers if worker.is_alive(now)]
    serving = [worker for worker in alive if worker.serves(queue, job)]
    stopping = sum(worker.stopping for worker in serving)
    drained = tuple(worker.id for worker in serving if worker.drained_at is not None and not worker.stopping)
    know_job = sum(job in worker.jobs for worker in alive)
    return Capability(len(alive), know_job, stopping, len(serving) - stopping - len(drained), drained)


def shortfall(found: Capability, queue: str, job: str) -> str | None:
    """Why no worker takes these runs, and what to do; None, if one does."""
    if found.able:
        return None
    if not found.alive:
        return "No worker is running; start one: `workbell start`."
    many = "1 worker is" if found.alive == 1 else f"{found.alive:,} workers are"
    if found.drained:
        only = "the only one" if len(found.drained) + found.stopping == 1 else "each one"
        state = "is drained or will stop" if found.stopping else "is drained"
        remedy = f"let it go on with `workbell workers resume {found.drained[0]}`, or start another"
        return f"{many} running, and {only} that could take job {job!r} from queue {queue!r} {state}; {remedy}."
    if found.stopping:
        only = "the only one" if found.stopping == 1 else f"all {found.stopping:,}"
        return f"{many} running, and {only} that could take job {job!r} from queue {queue!r} will stop; start another."
    if found.know_job:
        return f"{many} running, and none that knows job {job!r} serves queue {queue!r}; start one that does."
    if job in (DELIVERY, ALERT):
        none = "it cannot" if found.alive == 1 else "none of them can"
        remedy = "pip install 'workbell[webhooks]' where one runs, and start it again"
        return f"{many} running, and {none} send webhooks: the packages for it are not installed; {remedy}."
    none = "it does not know" if found.alive == 1 else "none of them knows"
    return f"{many} running, and {none} job {job!r} (queue {queue!r}); start one that does."


def unserved(workers: Iterable[Worker], queue: str, job: str, now: datetime, definition: Job | None) -> str | None:
    """Why no worker takes runs of a job, which may be a definition, and what to do; None, if one does."""
    if definition is None:
        return shortfall(capability(workers, queue, job, now), queue, job)
    if not definition.enabled:
        return f"Job {job!r} is disabled; `workbell jobs enable {job}` lets its runs go on."
    code = definition.handler
    found = capability(workers, queue, code, now)
    missing = shortfall(found, queue, code)
    if definition.is_elsewhere and not (found.stopping or found.drained or found.know_job):
        return (
            f"Job {job!r} is its own handler, so its code is in another language, and no worker that is listed takes "
            f"its runs (queue {queue!r}). A consumer need not be listed: see whether it runs."
        )
    return None if missing is None else f"Its handler is job {code!r}. {missing}"
