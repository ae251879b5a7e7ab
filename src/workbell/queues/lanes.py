"""Which lanes a claim takes from: fair between tenants, strict by priority within one. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

from workbell.model.run import Lane
from workbell.stores.port import Head, Pick


def choose(heads: Sequence[Head], limit: int, turn: int, serves: Callable[[Lane], bool]) -> list[Pick]:
    """Split a claim of `limit` runs over the lanes that have some.

    Every tenant gets an equal share, and whose turn is first goes round with `turn`. Within a tenant only the best
    priority that is waiting is taken, its lanes sharing equally; the next claim, which follows at once, takes what
    is then the best.
    """
    usable = sorted((head for head in heads if serves(head.lane)), key=lambda head: head.lane.tenant)
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
        each, rest = divmod(share, len(lanes))
        picks += [Pick(head.lane_id, head.rank, each + (place < rest)) for place, head in enumerate(lanes)]
    return picks


def _rotate(items: list, turn: int) -> list:  # type: ignore[type-arg]
    start = turn % len(items)
    return items[start:] + items[:start]
