"""Descriptions of queues in the API: waiting and running runs, oldest wait, pauses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from workbell.client.local import LocalClient
from workbell.model.pause import Pause
from workbell.stores.port import Counts

STATUSES = ("scheduled", "queued", "running")


def queues_of(client: LocalClient) -> Sequence[dict[str, Any]]:
    """The queues of a tenant, by name."""
    pauses, now = client.pauses(), client.store.clock.now()
    lanes = [counts for counts in client.store.reports.counts() if counts.lane.tenant == client.tenant]
    names = {job.queue for job in client.registry} | {job.queue for job in client.store.jobs.list(client.tenant)}
    names |= {counts.lane.queue for counts in lanes} | {pause.queue for pause in pauses if pause.queue is not None}
    return [
        _shown(
            name,
            [counts for counts in lanes if counts.lane.queue == name],
            [pause for pause in pauses if pause.queue == name],
            now,
        )
        for name in sorted(names)
    ]


def _shown(name: str, lanes: Sequence[Counts], pauses: Iterable[Pause], now: datetime) -> dict[str, Any]:
    whole = next((pause.since for pause in pauses if pause.job is None), None)
    since = min((counts.due_since for counts in lanes if counts.due_since is not None), default=now)
    return {
        "name": name,
        **{status: sum(getattr(counts, status) for counts in lanes) for status in STATUSES},
        "oldest_wait_seconds": max((now - since).total_seconds(), 0.0),
        "paused": whole is not None,
        "paused_since": whole,
        "paused_jobs": [{"job": one.job, "paused_since": one.since} for one in pauses if one.job is not None],
    }
