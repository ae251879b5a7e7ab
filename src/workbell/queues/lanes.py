"""Which lanes a claim takes from: fair between tenants, strict by priority within one. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

from workbell.model.run import Lane
from workbell.stores.port import Head, Pick


def choose(
    heads: Sequence[Head],
    limit: int,
    turn: int,
    serves: Callable[[Lane], bool],
    room: Callable[[Lane], int] | None = None,
) -> list[Pick]:
    """Split a claim of `limit` runs over the lanes that have some.

    Every tenant gets an equal share, and whose turn is first goes round with `turn`. Within a tenant only the best
    priority that is waiting is taken, its lanes sharing equally; the next claim, which follows at once, takes what
    is then the best. `room` says how many runs of a lane its limits leave: one that has none is as if it were empty,
    and what a lane may not take, the other lanes of its tenant do.
    """
    usable = sorted(
        (head for head in heads if serves(head.lane) and (room is None or room(head.lane) > 0)),
        key=lambda head: head.lane.tenant,
    )
    tenants = [list(group) for _, group in groupby(usable, key=lambda head: head.lane.tenant)]
    if not tenants or limit <= 0:
        return []
    share = -(-limit // len(tenants))
    picks = []
    for heads_of_tenant in _rotate(tenants, turn):
        best = min(head.rank for head in heads_of_tenant)
        # No more lanes than the share has runs: else a tenant would get more for having many lanes. They go round
        # more slowly than the tenants, or with the turns of one tenant the same lane would always come first.
        lanes = _rotate([head for head in heads_of_tenant if head.rank == best], turn // len(tenants))[:share]
        quotas = _share_out(share, [share if room is None else min(room(head.lane), share) for head in lanes])
        picks += [Pick(head.lane_id, head.rank, quota) for head, quota in zip(lanes, quotas, strict=True)]
    return picks


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
