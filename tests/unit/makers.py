"""Runs and workers, made by hand, in any state."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from workbell.model.run import Lane, Run, Status
from workbell.model.worker import Worker

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)
ID = "01890000-0000-7000-8000-000000000001"


def run_in(status: Status, **fields: Any) -> Run:
    """A run as it is found in this status, with anything about it changed."""
    run = Run(ID, Lane("default", "default", "send"), status, 0, NOW, NOW, NOW)
    if "key" in fields:
        fields["key_text"] = fields.pop("key")  # of the tenant
    if status is Status.RUNNING:
        taken = {"attempt": 1, "token": 1, "worker": "w1", "lease_until": NOW + timedelta(seconds=30)}
        fields = {**taken, "started_at": NOW, **fields}
    return msgspec.structs.replace(run, **fields)


def worker_of(*jobs: str, now: datetime = NOW, **fields: Any) -> Worker:
    """A worker that knows these jobs and was just seen, with anything about it changed."""
    made = Worker(
        id="host/1/2/a",
        host="host",
        pid=1,
        incarnation="2",
        version="1",
        queues=None,
        jobs=jobs,
        concurrency=10,
        started_at=now,
        seen_at=now,
    )
    return msgspec.structs.replace(made, **fields)
