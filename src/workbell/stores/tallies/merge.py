"""Merges tallies that have the same key: minute, tenant, queue, job and status."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from itertools import zip_longest

from msgspec.structs import replace

from workbell.model.clock import EPOCH
from workbell.model.tally import Tally

Key = tuple[datetime, str, str, str, str]


def tally_key(tally: Tally) -> Key:
    return tally.minute, tally.tenant, tally.queue, tally.job, tally.status


def add_up(tallies: Iterable[Tally]) -> dict[Key, Tally]:
    """One for each key."""
    sums: dict[Key, Tally] = {}
    for tally in tallies:
        key = tally_key(tally)
        sums[key] = _sum(sums[key], tally) if key in sums else tally
    return sums


def with_totals(tallies: Iterable[Tally]) -> dict[Key, Tally]:
    """The same, and what they add to the totals, which stand at the beginning of time."""
    listed = list(tallies)
    return add_up([*listed, *(replace(tally, minute=EPOCH) for tally in listed)])


def _sum(one: Tally, other: Tally) -> Tally:
    return replace(
        one,
        count=one.count + other.count,
        seconds=one.seconds + other.seconds,
        wait=one.wait + other.wait,
        buckets=tuple(a + b for a, b in zip_longest(one.buckets, other.buckets, fillvalue=0)),
    )
