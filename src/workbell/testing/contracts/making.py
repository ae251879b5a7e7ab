"""Factories of runs and claims for the contracts: short, with explicit times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from workbell.model.ids import new_id
from workbell.model.limit import Limit
from workbell.model.run import Lane, NewRun, OnDuplicate, Run, Status
from workbell.model.state import Retention
from workbell.stores.port import CoreStore, Held, Lease, LeaseTerms, Pick

START = datetime(2030, 1, 1, 12, tzinfo=UTC)
KEEP = Retention()
LEASE = timedelta(seconds=30)


def after(seconds: float) -> datetime:
    """A time that many seconds after the start of the test's story."""
    return START + timedelta(seconds=seconds)


def request(
    job: str = "work",
    *,
    at: float = 0,
    delay: float = 0,
    tenant: str = "default",
    queue: str = "default",
    target: str | None = None,
    lane_key: str | None = None,
    priority: int = 0,
    on_duplicate: str = "return",
    key_for: float | None = None,
    replace_tag: bool = False,
    **fields: Any,
) -> NewRun:
    """A new run, asked for `at` seconds after the start and due `delay` seconds later; `key` as it is stored."""
    if "key" in fields:
        fields["key_text"] = fields.pop("key")
    run = Run(
        new_id(),
        Lane(tenant, queue, job, target, lane_key),
        Status.SCHEDULED if delay else Status.QUEUED,
        -priority,
        after(at + delay),
        after(at),
        after(at),
    )
    return NewRun(
        msgspec.structs.replace(run, **fields),
        OnDuplicate(on_duplicate),
        None if key_for is None else timedelta(seconds=key_for),
        replace_tag,
    )


def add(store: CoreStore, *requests: NewRun) -> list[Run]:
    """Write requests and read back the runs that stand for them."""
    added = store.runs.add(requests)
    found = store.runs.find([answer.id for answer in added])
    return [found[answer.id] for answer in added]


def find(store: CoreStore, run: Run | str) -> Run:
    run_id = run if isinstance(run, str) else run.id
    return store.runs.find([run_id])[run_id]


def claim(store: CoreStore, limit: int = 100, *, at: float = 0, worker: str = "worker", lease: float = 30) -> list[Run]:
    """Claim from every lane that has something, in the order in which the lanes are found."""
    picks = [Pick(head.lane_id, head.rank, limit) for head in store.runs.survey(-1, 1000)]
    return claim_picks(store, picks, limit, at=at, worker=worker, lease=lease)


def claim_picks(
    store: CoreStore, picks: Sequence[Pick], limit: int, *, at: float = 0, worker: str = "worker", lease: float = 30
) -> list[Run]:
    return store.runs.claim(picks, limit, LeaseTerms.drawn(worker, after(at), after(at + lease)))


def take(
    store: CoreStore,
    chosen: Sequence[str],
    *,
    at: float = 0,
    limits: Mapping[int, Sequence[Limit]] | None = None,
    lanes: Sequence[int] | None = None,
) -> list[Run]:
    return store.runs.take(chosen, LeaseTerms.drawn("worker", after(at), after(at + 30)), limits=limits, lanes=lanes)


def claimed(store: CoreStore, *, at: float = 0, worker: str = "worker", **fields: Any) -> Run:
    """One run, made and claimed; it must be the only one that waits."""
    add(store, request(at=at, **fields))
    (run,) = claim(store, at=at, worker=worker)
    return run


def held(run: Run) -> Held:
    return Held(run.id, run.token)


def lease_of(run: Run) -> Lease:
    """The lease of a run, as others see it."""
    assert run.lease_until is not None
    return Lease(run.id, run.token, run.lease_until, run.worker)


def ids(runs: Sequence[Run]) -> list[str]:
    return [run.id for run in runs]
