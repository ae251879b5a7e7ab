"""What the limits leave to a claim: how many runs each pick may take. Pure, and the same for every store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from workbell.model.limit import UNUSED, Limit, Use
from workbell.model.rate import Starts
from workbell.stores.port import Pick

Taken = TypeVar("Taken")
Place = tuple[int, int]  # lane and rank


class Allotment:
    """Limits as they were counted under their locks, and what this claim has taken of them since."""

    def __init__(self, limits: Mapping[int, Sequence[Limit]], uses: Mapping[int, Use], now: datetime) -> None:
        self._limits = limits
        self._uses = uses
        self._now = now
        self._every = {limit.id: limit for listed in limits.values() for limit in listed}
        self._left = {limit_id: limit.room(uses.get(limit_id, UNUSED), now) for limit_id, limit in self._every.items()}
        self._started: Counter[int] = Counter()

    def claim(
        self,
        picks: Sequence[Pick],
        limit: int,
        take: Callable[[Sequence[Pick], int], Sequence[Taken]],
        place_of: Callable[[Taken], Place],
    ) -> list[Taken]:
        """Have runs taken from these picks. What one of them has no runs for is given to the others."""
        taken: list[Taken] = []
        waiting = list(picks)
        while waiting and len(taken) < limit:
            granted = self._grant(waiting)
            if not granted:
                break
            found = take(granted, limit - len(taken))
            got = Counter(map(place_of, found))
            for (lane_id, _), count in got.items():
                self._note(lane_id, count)
            taken += found
            waiting = [left for pick in waiting if (left := _left_of(pick, granted, got)) is not None]
        return taken

    def _grant(self, picks: Sequence[Pick]) -> list[Pick]:
        """As much as is left, the first come first."""
        left = dict(self._left)
        granted = []
        for pick in picks:
            ids = [limit.id for limit in self._limits.get(pick.lane_id, ())]
            quota = min([pick.quota, *(left[limit_id] for limit_id in ids)])
            if quota > 0:
                granted.append(pick._replace(quota=quota))
                for limit_id in ids:
                    left[limit_id] -= quota
        return granted

    def _note(self, lane_id: int, count: int) -> None:
        for limit in self._limits.get(lane_id, ()):
            self._left[limit.id] -= count
            self._started[limit.id] += count

    def new_starts(self) -> list[tuple[Limit, Starts]]:
        """What is to be remembered of the limits whose starts count."""
        found = []
        for limit_id, count in self._started.items():
            limit = self._every[limit_id]
            if limit.rate is not None:
                before = self._uses.get(limit_id, UNUSED).starts
                found.append((limit, limit.rate.with_starts(before, self._now, count)))
        return found


def _left_of(pick: Pick, granted: Sequence[Pick], got: Counter[Place]) -> Pick | None:
    """What a pick may still take; none, if it has no more runs or has had its share."""
    place = (pick.lane_id, pick.rank)
    given = sum(other.quota for other in granted if (other.lane_id, other.rank) == place)
    quota = pick.quota - got[place]
    return pick._replace(quota=quota) if got[place] >= given and quota > 0 else None
