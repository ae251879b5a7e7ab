"""Fairness between tenants: weighted shares of the starts, and lanes of every tenant to choose from.

What each tenant has had is counted, divided by its weight; the one that has had least comes next. A tenant that had
nothing to do meanwhile has not saved anything up: it starts level with the one that has had least.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from workbell.model.run import Run
from workbell.stores.port import Head, Store

SAMPLE_FRESH = timedelta(seconds=1)
SAMPLED_TENANTS = 50  # asked for in one go; where there are more, they go round
SAMPLED_LANES = 20  # of each tenant


class FairShares:
    """Weighted fair shares: what the tenants have had so far, as this process knows it.

    `weights` are those that are not 1.
    """

    def __init__(self) -> None:
        self.weights: Mapping[str, int] = {}
        self._had: dict[str, float] = {}

    def divide(self, limit: int, rooms: Mapping[str, int], turn: int) -> dict[str, int]:
        """How many of `limit` runs each tenant may take, up to its room; the one that has had least comes first.

        `rooms` are the tenants that have work. Among equals the first goes round with `turn`.
        """
        if len(rooms) == 1:
            return {tenant: min(limit, room) for tenant, room in rooms.items()}
        names = sorted(rooms)
        start = turn % len(names)
        level = self._join(names)
        heap = [
            (had, (order - start) % len(names), tenant)
            for order, (tenant, had) in enumerate(zip(names, level, strict=True))
            if rooms[tenant] > 0
        ]
        heapq.heapify(heap)
        given: dict[str, int] = {}
        for _ in range(limit):
            if not heap:
                break
            had, order, tenant = heap[0]
            given[tenant] = given.get(tenant, 0) + 1
            if given[tenant] < rooms[tenant]:
                heapq.heapreplace(heap, (had + 1 / self.weights.get(tenant, 1), order, tenant))
            else:
                heapq.heappop(heap)
        return given

    def _join(self, names: Sequence[str]) -> list[float]:
        """The starts that each tenant has had, by weight. One that was not there last begins with the least of them."""
        present = [self._had[name] for name in names if name in self._had]
        least = min(present, default=0.0)
        self._had = {name: self._had.get(name, least) - least for name in names}
        return [self._had[name] for name in names]

    def note(self, started: Iterable[str]) -> None:
        """Count a start for each of these tenants."""
        for tenant in started:
            if tenant in self._had:
                self._had[tenant] += 1 / self.weights.get(tenant, 1)


def interleave(taken: Sequence[Run], weights: Mapping[str, int]) -> list[Run]:
    """Runs of several tenants in turn, by their weights; those of one tenant stay in order.

    In the order of their due times all of the older backlog would be worked on first, however long the claim.
    """
    seen: Counter[str] = Counter()
    shares = []
    for run in taken:
        seen[run.tenant] += 1
        shares.append((seen[run.tenant] - 0.5) / weights.get(run.tenant, 1))
    if len(seen) < 2:
        return list(taken)
    return [taken[index] for index in sorted(range(len(taken)), key=shares.__getitem__)]


class TenantSample:
    """Sample of the lanes of every tenant, for a store that has more lanes than one survey returns.

    Surveys go page by page in the order of lane ids. A tenant with very many lanes fills almost every page, and
    another with a few would hardly ever be seen. The sample is read once a second: a lane of it that has nothing any
    more costs a claim next to nothing.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._read_at: datetime | None = None
        self._lanes: dict[str, Sequence[Head]] = {}
        self._after = ""
        self._seen: set[str] = set()  # in this round

    def beside(self, page: Sequence[Head], now: datetime) -> list[Head]:
        """Lanes of the tenants that a page of a survey does not show."""
        if self._read_at is None or abs(now - self._read_at) >= SAMPLE_FRESH:
            self._read_at = now
            self._read()
        shown = {head.lane.tenant for head in page}
        return [head for tenant, heads in self._lanes.items() if tenant not in shown for head in heads]

    def _read(self) -> None:
        known = self._store.tenants.known
        tenants = known(after=self._after, limit=SAMPLED_TENANTS)
        self._seen.update(tenants)
        if len(tenants) < SAMPLED_TENANTS:  # a round ends; tenants that it has not met are gone
            self._lanes = {tenant: heads for tenant, heads in self._lanes.items() if tenant in self._seen}
            self._seen = set()
            if self._after:
                first = known(limit=SAMPLED_TENANTS - len(tenants))
                self._seen.update(first)
                tenants += [tenant for tenant in first if tenant not in tenants]
                self._after = first[-1] if first else ""
        else:
            self._after = tenants[-1]
        for tenant in tenants:
            self._lanes[tenant] = self._store.runs.survey_tenant(tenant, SAMPLED_LANES)
