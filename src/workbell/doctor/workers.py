"""Worker checks of the doctor: alive and lost workers, queued runs that no worker takes, and rewinds they noticed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from workbell.doctor.finding import MOST, Finding, each_unserved, with_remedy
from workbell.doctor.spans import span
from workbell.model.capability import unserved
from workbell.model.rewind import rewinds_in_words
from workbell.model.worker import Worker
from workbell.stores.port import Counts, Store

MOST_REWINDS = 1000  # records that are counted
RECENT = timedelta(days=1)  # a worker that was lost before, and left nothing, is past


def worker_findings(store: Store, workers: Sequence[Worker], numbers: dict[str, Any]) -> Iterator[Finding]:
    now = store.clock.now()
    alive = [worker for worker in workers if worker.is_alive(now)]
    lost = [worker for worker in workers if not worker.is_alive(now)]
    numbers["workers"] = {"alive": len(alive), "lost": len(lost)}
    if alive:
        yield Finding("ok", "workers", _living(alive))
    else:
        yield with_remedy("note", "workers", "none is running; start one: `workbell start`.")
    yield from _lost(store, lost, now)


def _living(alive: Sequence[Worker]) -> str:
    hosts = len({worker.host for worker in alive})
    slots = sum(worker.concurrency for worker in alive)
    where = "on 1 machine" if hosts == 1 else f"on {hosts:,} machines"
    stopping = sum(worker.stopping for worker in alive)
    drained = sum(worker.drained_at is not None for worker in alive)
    ending = f", {stopping:,} of them stopping" if stopping else ""
    ending += f", {drained:,} of them drained" if drained else ""
    return f"{len(alive):,} alive {where}, {slots:,} slots{ending}"


def _lost(store: Store, lost: Sequence[Worker], now: datetime) -> Iterator[Finding]:
    for worker in sorted(lost, key=lambda worker: worker.seen_at, reverse=True)[:MOST]:
        held = len(store.runs.leases_of([worker.id]))
        if not held and now - worker.seen_at > RECENT:
            continue
        left = "it held no runs"
        if held:
            left = f"it still holds {held:,} run{'s' if held > 1 else ''}, which others take up when the leases end"
        yield Finding("note", "lost worker", f"{worker.id} was last seen {span(now - worker.seen_at)} ago; {left}.")


def unserved_findings(store: Store, workers: Sequence[Worker], lanes: Sequence[Counts]) -> Iterator[Finding]:
    """Queued runs that no living worker takes; lanes that differ only by key share one finding."""
    now = store.clock.now()
    queued: Counter[tuple[str, str, str]] = Counter()
    for counts in lanes:
        if counts.queued and not counts.paused and counts.lane.target is None:
            queued[counts.lane.tenant, counts.lane.queue, counts.lane.job] += counts.queued
    listed = []
    defined = {(job.tenant, job.name): job for job in store.definitions.list()} if queued else {}
    for (tenant, queue, job), count in queued.most_common():
        reason = unserved(workers, queue, job, now, defined.get((tenant, job)))
        if reason is not None:
            name = f"queue {queue}, job {job}" + (f", tenant {tenant}" if tenant != "default" else "")
            listed.append(f"{name}: {count:,} queued run{'s' if count > 1 else ''}, and nobody takes them. {reason}")
    yield from each_unserved(listed)


def definition_findings(store: Store, workers: Sequence[Worker]) -> Iterator[Finding]:
    """Definitions whose handler nobody has declared, here or in the store: a misspelt name, or code still to come."""
    now = store.clock.now()
    served = {job for worker in workers if worker.is_alive(now) for job in worker.jobs}
    for job in [job for job in store.definitions.list() if job.handler not in served and not job.is_elsewhere][:MOST]:
        code = store.jobs.find(job.tenant, job.handler)
        if code is not None and not code.is_definition:
            continue
        wrong = "is a definition itself" if code is not None else "is a job that no worker has declared yet"
        name = job.name + (f", tenant {job.tenant}" if job.tenant != "default" else "")
        remedy = "start a worker that has it, or put another handler"
        yield with_remedy("note", "definition", f"{name}: its handler {job.handler} {wrong}; {remedy}.")


def rewind_findings(store: Store, numbers: dict[str, Any]) -> Iterator[Finding]:
    """Runs that a rewind of the store concerns: at risk for a day, then a note until the records are removed."""
    found = store.rewinds.list(None, limit=MOST_REWINDS)
    numbers["rewinds"] = len(found)
    if not found:
        return
    age = store.clock.now() - found[0].noticed_at
    more = ", and there are more" if len(found) == MOST_REWINDS else ""
    says = f"the store was rewound, as workers noticed {span(age)} ago: {rewinds_in_words(reversed(found))}{more}"
    remedy = (
        "`workbell workers rewinds` lists them: check what these runs did twice. Enqueue again what is gone, and check "
        "keys, events and schedules since that time."
    )
    yield Finding("risk" if age < RECENT else "note", "rewound", says, remedy)
