"""Copies a store page by page; repeating it neither duplicates nor revives anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from workbell.stores.port import Store
from workbell.stores.store_page import StorePage

KINDS = [
    *("lanes", "pauses", "jobs", "schedules", "ticks", "live runs", "finished runs", "attempts", "log lines", "keys"),
    *("events", "matches", "triggers", "endpoints", "endpoint health"),
    *("tokens", "tenants", "audit entries", "notifications", "read marks", "agents", "tallies"),
]


class CopyTally(NamedTuple):
    """Counts of a copy, by kind: rows read, rows that were newer in the target, and rows before and after."""

    read: Counter[str]
    outdated: Counter[str]
    before: Counter[str]
    after: Counter[str]

    def copied(self, kind: str) -> int:
        return max(self.after[kind] - self.before[kind], 0)

    def missing(self) -> list[str]:
        """Rows missing in the new store, by kind."""
        wanted = {kind: self.read[kind] - self.outdated[kind] for kind in KINDS}
        return [
            f"{kind}: {self.after[kind]:,} of {wanted[kind]:,}" for kind in KINDS if self.after[kind] < wanted[kind]
        ]

    def as_dict(self) -> dict[str, Any]:
        return {"read": self.read, "copied": {kind: self.copied(kind) for kind in KINDS}}


def count(batch: StorePage) -> Counter[str]:
    live = sum(not run.status.final for run in batch.runs)
    sizes = [len(batch.lanes), len(batch.pauses), len(batch.jobs), len(batch.schedules), len(batch.ticks)]
    sizes += [live, len(batch.runs) - live, len(batch.attempts), len(batch.logs), len(batch.keys)]
    sizes += [len(batch.events), len(batch.matches), len(batch.triggers), len(batch.endpoints), len(batch.health)]
    sizes += [len(batch.tokens), len(batch.tenants), len(batch.audit), len(batch.notifications), len(batch.reads)]
    sizes += [len(batch.agents), len(batch.tallies)]
    return Counter(dict(zip(KINDS, sizes, strict=True)))


def census(store: Store) -> Counter[str]:
    """Number of rows in a store, by kind."""
    total: Counter[str] = Counter(dict.fromkeys(KINDS, 0))
    for batch in store.export():
        total.update(count(batch))
    return total


def transfer(source: Store, target: Store, advance: Callable[[int], None]) -> CopyTally:
    """Copy every page that `source` gives."""
    before = census(target)
    read: Counter[str] = Counter(dict.fromkeys(KINDS, 0))
    outdated: Counter[str] = Counter()
    for batch in source.export():
        page = count(batch)
        read.update(page)
        target.load(_still_wanted(batch, target, outdated))
        advance(page.total())
    return CopyTally(read, outdated, before, census(target))


def _still_wanted(batch: StorePage, target: Store, outdated: Counter[str]) -> StorePage:
    """Leave out what the new store knows better.

    A run that is there already may have gone on since: a live one may be finished there. And a key that is
    held while its run lives must not come back after that run has ended: nothing would ever free it again.
    """
    if batch.runs:
        known = target.runs.find(run.id for run in batch.runs)
        for run in batch.runs:
            if run.id in known and known[run.id].status.final != run.status.final:
                outdated["finished runs" if run.status.final else "live runs"] += 1
        batch = batch._replace(runs=[run for run in batch.runs if run.id not in known])
    if batch.keys:
        holders = target.runs.find(run for _, _, run, _ in batch.keys)
        live = {run.id for run in holders.values() if not run.status.final}
        live_keys = [key for key in batch.keys if key[3] is not None or key[2] in live]
        outdated["keys"] += len(batch.keys) - len(live_keys)
        batch = batch._replace(keys=live_keys)
    return batch
