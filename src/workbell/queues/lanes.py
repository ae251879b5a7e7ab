"""Which lanes a claim takes from: fair between tenants, strict by priority within one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby

from workbell.model.run import Lane, Run
from workbell.queues.shares import Shares
from workbell.stores.port import Head, Pick


def choose(
    heads: Sequence[Head],
    limit: int,
    turn: int,
    serves: Callable[[Lane], bool],
    room: Callable[[Lane], int] | None = None,
    shares: Shares | None = None,
) -> list[Pick]:
    """Split a claim of `limit` runs over the lanes that have some.

    Every tenant gets its share (`shares`; else an equal one), and whose turn is first goes round with `turn`. Within a
    tenant only the best priority that is waiting is taken, its lanes sharing equally; the next claim, which follows at
    once, takes what is then the best. `room` says how many runs of a lane its limits leave: one that has none is as if
    it were empty, and what a lane may not take, the other lanes of its tenant do.
    """
    usable = sorted(
        (head for head in heads if serves(head.lane) and (room is None or room(head.lane) > 0)),
        key=lambda head: head.lane.tenant,
    )
    tenants = {tenant: _best(group) for tenant, group in groupby(usable, key=lambda head: head.lane.tenant)}
    if not tenants or limit <= 0:
        return []
    rooms = dict.fromkeys(tenants, limit)
    if room is not None:
        rooms = {tenant: min(sum(room(head.lane) for head in best), limit) for tenant, best in tenants.items()}
    given = (shares or Shares()).divide(limit, rooms, turn)
    picks = []
    # Those that the limit leaves nothing for come last with one each: what seemed to be waiting may be gone by now, and
    # then the claim is theirs.
    for tenant, share in [*given.items(), *((tenant, 1) for tenant in tenants if tenant not in given)]:
        # No more lanes than the share has runs: else a tenant would get more for having many lanes. They go round
        # more slowly than the tenants, or with the turns of one tenant the same lane would always come first.
        lanes = _rotate(tenants[tenant], turn // len(tenants))[:share]
        quotas = _share_out(share, [share if room is None else min(room(head.lane), share) for head in lanes])
        picks += [Pick(head.lane_id, head.rank, quota) for head, quota in zip(lanes, quotas, strict=True)]
    return picks


def interleave(taken: Sequence[Run], weights: Mapping[str, int]) -> list[Run]:
    """Runs of several tenants in turn, by their weights; those of one tenant keep their order.

    In the order of their due times all of the older backlog would be worked on first, however long the claim.
    """
    seen: Counter[str] = Counter()
    places = []
    for run in taken:
        seen[run.tenant] += 1
        places.append((seen[run.tenant] - 0.5) / weights.get(run.tenant, 1))
    if len(seen) < 2:
        return list(taken)
    return [taken[index] for index in sorted(range(len(taken)), key=places.__getitem__)]


def _best(heads: Iterable[Head]) -> list[Head]:
    """Those of the best priority."""
    listed = list(heads)
    best = min(head.rank for head in listed)
    return [head for head in listed if head.rank == best]


def _share_out(share: int, most: Sequence[int]) -> list[int]:
    """Equal parts of a share, of which none is larger than it may be; the first ones get what is left over."""
    quotas = [0] * len(most)
    open_places = list(range(len(most)))
    left = share
    while left > 0 and open_places:
        each, rest = divmod(left, len(open_places))
        for place, index in enumerate(open_places):
            given = min(each + (place < rest), most[index] - quotas[index])
            quotas[index] += given
            left -= given
        open_places = [index for index in open_places if quotas[index] < most[index]]
    return quotas


def _rotate(items: list, turn: int) -> list:  # type: ignore[type-arg]
    start = turn % len(items)
    return items[start:] + items[:start]
