"""The last finished runs of jobs: a part of the memory store."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from workbell.model.ended_run import EndedRun
from workbell.model.run import Run


class MemoryRecent:
    """What it shares with the rest of the store is named here and made there."""

    _lock: threading.RLock
    _finished: dict[str, Run]

    def recent_runs(self, tenant: str, jobs: Sequence[str], most: int) -> dict[str, list[EndedRun]]:
        with self._lock:
            newest_first = sorted(self._finished.values(), key=lambda run: run.id, reverse=True)
        found: dict[str, list[EndedRun]] = {job: [] for job in jobs}
        for run in newest_first:
            ended = found.get(run.job) if run.tenant == tenant else None
            if ended is not None and len(ended) < most and run.finished_at is not None:
                ended.append(EndedRun(run.id, run.status, run.attempt, run.started_at, run.finished_at))
        return found
