"""Room under limits: how many more runs of each lane its limits allow, read at once for all lanes of a survey.

It is an estimate that only saves work: a claim counts again, under the limits' locks. A lane whose limits leave
nothing is not tried, so that many of them do not cost a lock each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from workbell.model.limit import UNUSED, Limit
from workbell.model.rate import Rate
from workbell.model.run import Run
from workbell.stores.port import Store

MOST_DELAYED = 20_000  # limits whose rate is used up; beyond that, those that are free again are dropped


class LimitRoom:
    """Limits by lane, and what is left of each; good for a few claims."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._limits: dict[int, Sequence[Limit]] = {}
        self._left: dict[int, int] = {}
        # Limits whose rate leaves nothing before a time. Others can only add to the starts: no need to read sooner.
        # By the rate too, which may be another one when the job's file has changed.
        self._free_at: dict[tuple[int, Rate | None], datetime] = {}

    def read(self, limits: Mapping[int, Sequence[Limit]], now: datetime) -> None:
        """Read what these lanes' limits leave."""
        self._limits = dict(limits)
        every = {limit.id: limit for listed in limits.values() for limit in listed}
        if len(self._free_at) > MOST_DELAYED:
            self._free_at = {key: at for key, at in self._free_at.items() if at > now}
        asked = [limit for limit in every.values() if not self._is_used_up(limit, now)]
        uses = self._store.limits.uses(asked)
        self._left = dict.fromkeys(every, 0)
        for limit in asked:
            use = uses.get(limit.id, UNUSED)
            self._left[limit.id] = limit.room(use, now)
            free_at = limit.free_at(use, now)
            if free_at is not None:
                self._free_at[limit.id, limit.rate] = free_at

    def _is_used_up(self, limit: Limit, now: datetime) -> bool:
        at = self._free_at.get((limit.id, limit.rate))
        return at is not None and at > now

    def free_at(self, now: datetime) -> datetime | None:
        """When the first limit whose rate is used up is free again."""
        every = {(limit.id, limit.rate) for listed in self._limits.values() for limit in listed}
        return min((at for key in every if (at := self._free_at.get(key)) is not None and at > now), default=None)

    def of(self, lane_id: int, most: int) -> int:
        """How many runs of a lane may be taken."""
        return min([most, *(self._left[limit.id] for limit in self._limits.get(lane_id, ()))])

    def note(self, taken: Iterable[Run]) -> bool:
        """Count these runs as claimed; whether that left nothing of a limit."""
        concerned = [limit.id for run in taken for limit in self._limits.get(run.lane.id, ())]
        for limit_id in concerned:
            self._left[limit_id] -= 1
        return any(self._left[limit_id] <= 0 for limit_id in concerned)
