"""Tallies in a dict: a part of the memory store."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from workbell.model.clock import EPOCH
from workbell.model.tally import Tally, TallySum
from workbell.stores.tallies.merge import Key, add_up, key_of, with_totals
from workbell.stores.tallies.tallies import KEPT


class MemoryTallies:
    """What it shares with the rest of the store is named here and made there."""

    _lock: threading.RLock

    def __init__(self) -> None:
        super().__init__()
        self._tallies: dict[Key, Tally] = {}

    def add_tallies(self, tallies: Sequence[Tally]) -> None:
        with self._lock:
            self._tallies = add_up([*self._tallies.values(), *with_totals(tallies).values()])

    def list_tallies(self, *, tenant: str | None, since: datetime) -> list[Tally]:
        with self._lock:
            found = [one for one in self._tallies.values() if one.minute >= since and tenant in (None, one.tenant)]
        return sorted((one for one in found if one.minute != EPOCH), key=key_of)

    def sum_tallies(
        self, tenant: str, *, since: datetime, until: datetime, step: int, job: str | None, queue: str | None
    ) -> list[TallySum]:
        sums: Counter[tuple[int, str, str]] = Counter()
        for one in self.list_tallies(tenant=tenant, since=since):
            if one.minute < until and job in (None, one.job) and queue in (None, one.queue):
                sums[(one.minute - EPOCH) // timedelta(seconds=step), one.job, one.status] += one.count
        return [TallySum(*place, count) for place, count in sums.items()]

    def total_tallies(self) -> list[Tally]:
        with self._lock:
            return sorted((one for one in self._tallies.values() if one.minute == EPOCH), key=key_of)

    def _delete_tallies(self, now: datetime, limit: int) -> int:
        over = sorted(place for place in self._tallies if EPOCH < place[0] <= now - KEPT)[:limit]
        for place in over:
            del self._tallies[place]
        return len(over)

    def _load_tallies(self, tallies: Iterable[Tally]) -> None:
        self._tallies = {key_of(tally): tally for tally in tallies} | self._tallies
