"""Lane choice: how many runs a claim takes from each lane; fair between tenants, strict by priority within one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from workbell.claims.fairness import FairShares
from workbell.model.run import Lane
from workbell.stores.port import Head, Pick


def choose_lanes(
    heads: Sequence[Head],
    limit: int,
    turn: int,
    serves: Callable[[Lane], bool],
    room: Callable[[Lane], int] | None = None,
    shares: FairShares | None = None,
) -> list[Pick]:
    """Split a claim of `limit` runs over the lanes that have some.

    Every tenant gets its share (`shares`; else an equal one), and whose turn is first goes round with `turn`. Within a
    tenant only the best priority that is waiting is taken, its lanes sharing equally; the next claim, which follows at
    once, takes what is then the best. `room` says how many runs of a lane its limits leave: one that has none is as if
    it were empty, and what a lane may not take, the other lanes of its tenant do.
    """
    usable: dict[str, list[Head]] = {}
    for head in heads:
        if serves(head.lane) and (room is None or room(head.lane) > 0):
            usable.setdefault(head.lane.tenant, []).append(head)
    if not usable or limit <= 0:
        return []
    tenants = {tenant: found if len(found) == 1 else _best(found) for tenant, found in sorted(usable.items())}
    if len(tenants) == 1:
        (lanes,) = tenants.values()
        if len(lanes) == 1:  # the usual case; the rest of this would cost a claim 5 µs and come to the same
            (head,) = lanes
            quota = limit if room is None else min(room(head.lane), limit)
            return [Pick(head.lane_id, head.rank, quota, head.since)]
    rooms = dict.fromkeys(tenants, limit)
    if room is not None:
        rooms = {tenant: min(sum(room(head.lane) for head in best), limit) for tenant, best in tenants.items()}
    given = (shares or FairShares()).divide(limit, rooms, turn)
    picks = []
    # Tenants without a share come last with a quota of one: the runs of the others may be gone by now, and then the
    # claim takes theirs.
    for tenant, share in [*given.items(), *((tenant, 1) for tenant in tenants if tenant not in given)]:
        # No more lanes than the share has runs: else a tenant would get more for having many lanes. They go round
        # more slowly than the tenants, or with the turns of one tenant the same lane would always come first.
        lanes = _rotate(tenants[tenant], turn // len(tenants))[:share]
        quotas = _share_out(share, [share if room is None else min(room(head.lane), share) for head in lanes])
        picks += [Pick(head.lane_id, head.rank, quota, head.since) for head, quota in zip(lanes, quotas, strict=True)]
    return picks


def _best(heads: list[Head]) -> list[Head]:
    """The heads of the best rank."""
    best = min(head.rank for head in heads)
    return [head for head in heads if head.rank == best]


def _share_out(share: int, most: Sequence[int]) -> list[int]:
    """Equal parts of a share, of which none is larger than it may be; the first ones get what is left over."""
    quotas = [0] * len(most)
    unfilled = list(range(len(most)))
    left = share
    while left > 0 and unfilled:
        each, rest = divmod(left, len(unfilled))
        for nth, index in enumerate(unfilled):
            given = min(each + (nth < rest), most[index] - quotas[index])
            quotas[index] += given
            left -= given
        unfilled = [index for index in unfilled if quotas[index] < most[index]]
    return quotas


def _rotate(items: list, turn: int) -> list:  # type: ignore[type-arg]
    start = turn % len(items)
    return items[start:] + items[:start]
