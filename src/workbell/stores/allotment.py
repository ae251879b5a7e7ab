"""Allotment: how many runs each pick of a claim may take under the limits. Pure, and the same for every store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime

from workbell.model.limit import UNUSED, Use
from workbell.stores.port import LimitsOfLanes, Pick

LaneRank = tuple[int, int]  # lane and rank


def allot(
    picks: Sequence[Pick],
    limit: int,
    limits: LimitsOfLanes,
    uses: Mapping[int, Use],
    queued: Mapping[LaneRank, int],
    now: datetime,
) -> list[Pick]:
    """Quotas of picks, first come, first served: no more than a lane has, than its limits leave, and `limit` in all.

    `limits` are those of lanes, `queued` is the number of queued runs by lane and rank. So no quota is wasted on a pick
    without runs.
    """
    every = {one.id: one for listed in limits.values() for one in listed}
    left = {limit_id: one.room(uses.get(limit_id, UNUSED), now) for limit_id, one in every.items()}
    granted = []
    for pick in picks:
        ids = [one.id for one in limits.get(pick.lane_id, ())]
        waiting = queued.get((pick.lane_id, pick.rank), 0)
        quota = min([pick.quota, limit, waiting, *(left[limit_id] for limit_id in ids)])
        if quota > 0:
            granted.append(pick._replace(quota=quota))
            limit -= quota
            for limit_id in ids:
                left[limit_id] -= quota
    return granted


def count_by_limit(picks: Sequence[Pick], limits: LimitsOfLanes) -> Counter[int]:
    """How many runs these picks take of each limit."""
    taken: Counter[int] = Counter()
    for pick in picks:
        for one in limits.get(pick.lane_id, ()):
            taken[one.id] += pick.quota
    return taken
