"""Pauses and limits in dicts: a part of the memory store."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta

from workbell.model.limit import ALL_JOBS, Limit, Use
from workbell.model.pause import Pause
from workbell.model.rate import Starts
from workbell.model.run import Lane, Run, Status

IDLE_FOR = timedelta(days=1)


class MemoryLimits:
    """What it shares with the rest of the store is named here and made there."""

    _lock: threading.RLock
    _live: dict[str, Run]
    _finished: dict[str, Run]
    _lanes: dict[int, Lane]
    _used_at: dict[int, datetime]  # when a lane with a key was last asked for
    _starts: dict[int, Starts]
    _pauses: dict[tuple[str, str | None, str | None], Pause]

    def wake(self) -> None:
        raise NotImplementedError

    # Limits

    def limit_uses(self, limits: Sequence[Limit]) -> dict[int, Use]:
        with self._lock:
            running = Counter(run.lane for run in self._live.values() if run.status is Status.RUNNING)
            return {limit.id: self._use(limit, running) for limit in limits}

    def _use(self, limit: Limit, running: Counter[Lane]) -> Use:
        counted = running.items() if limit.concurrency is not None else ()
        starts = self._starts.get(limit.id, ()) if limit.rate is not None else ()
        return Use(sum(count for lane, count in counted if _counts(limit, lane)), starts)

    def _delete_idle_lanes(self, now: datetime) -> None:
        used = {run.lane.id for run in (*self._live.values(), *self._finished.values())}
        for lane_id, at in list(self._used_at.items()):
            if at <= now - IDLE_FOR and lane_id not in used:
                del self._used_at[lane_id], self._lanes[lane_id]

    # Pauses

    def pause(self, tenant: str, queue: str | None, job: str | None, now: datetime) -> Pause:
        with self._lock:
            made = self._pauses.setdefault((tenant, queue, job), Pause(tenant, queue, job, now))
        self.wake()
        return made

    def resume(self, tenant: str, queue: str | None, job: str | None) -> int:
        with self._lock:
            gone = [
                pause
                for pause in self._pauses
                if pause[0] == tenant and queue in (None, pause[1]) and job in (None, pause[2])
            ]
            for pause in gone:
                del self._pauses[pause]
        self.wake()
        return len(gone)

    def list_pauses(self, tenant: str | None = None) -> list[Pause]:
        with self._lock:
            found = [pause for pause in self._pauses.values() if tenant in (None, pause.tenant)]
        return sorted(found, key=lambda pause: (pause.tenant, str(pause)))

    def _is_paused(self, lane: Lane) -> bool:
        return any(pause.covers(lane) for pause in self._pauses.values())


def _counts(limit: Limit, lane: Lane) -> bool:
    if limit.job == ALL_JOBS:
        return lane.tenant == limit.tenant
    return (lane.tenant, lane.job) == (limit.tenant, limit.job) and (not limit.keyed or lane.key == limit.key)
