"""Use of limits in the memory store: counted from the runs, and from the starts that claims note."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime

from workbell.model.limit import ALL_JOBS, Limit, Use
from workbell.model.run import Lane, Status
from workbell.stores.allotment import count_by_limit
from workbell.stores.memory.state import State
from workbell.stores.port import LimitsOfLanes, Pick


class MemoryLimits:
    """The part `limits`: claims need it."""

    def __init__(self, state: State) -> None:
        self._state = state

    def uses(self, limits: Sequence[Limit]) -> dict[int, Use]:
        with self._state.lock:
            running = Counter(run.lane for run in self._state.live.values() if run.status is Status.RUNNING)
            return {limit.id: self._use(limit, running) for limit in limits}

    def _use(self, limit: Limit, running: Counter[Lane]) -> Use:
        counted = running.items() if limit.concurrency is not None else ()
        starts = self._state.starts.get(limit.id, ()) if limit.rate is not None else ()
        return Use(sum(count for lane, count in counted if _counts(limit, lane)), starts)

    def note_starts(
        self, granted: Sequence[Pick], limits: LimitsOfLanes, uses: Mapping[int, Use], now: datetime
    ) -> None:
        rates = {limit.id: limit.rate for listed in limits.values() for limit in listed}
        for limit_id, count in count_by_limit(granted, limits).items():
            if (rate := rates[limit_id]) is not None:
                self._state.starts[limit_id] = rate.with_starts(uses[limit_id].starts, now, count)


def _counts(limit: Limit, lane: Lane) -> bool:
    if limit.job == ALL_JOBS:
        return lane.tenant == limit.tenant
    return (lane.tenant, lane.job) == (limit.tenant, limit.job) and (not limit.keyed or lane.key == limit.key)
