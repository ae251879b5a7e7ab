"""Shares of tenants: of the starts that there are, each that has work gets as many as its weight says.

What each has had is counted, divided by its weight; who has had least comes next. A tenant that had nothing to do
meanwhile has not saved anything up: it starts level with the one that has had least.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence


class Shares:
    """What the tenants have had so far, as this process knows it. `weights` are those that are not 1."""

    def __init__(self) -> None:
        self.weights: Mapping[str, int] = {}
        self._had: dict[str, float] = {}

    def divide(self, limit: int, rooms: Mapping[str, int], turn: int) -> dict[str, int]:
        """How many of `limit` each tenant may take, none more than it has room for; who comes first, first.

        `rooms` are the tenants that have work. Among equals the first goes round with `turn`.
        """
        if len(rooms) == 1:
            return {tenant: min(limit, room) for tenant, room in rooms.items()}
        names = sorted(rooms)
        start = turn % len(names)
        level = self._join(names)
        line = [
            (had, (place - start) % len(names), tenant)
            for place, (tenant, had) in enumerate(zip(names, level, strict=True))
            if rooms[tenant] > 0
        ]
        heapq.heapify(line)
        given: dict[str, int] = {}
        for _ in range(limit):
            if not line:
                break
            had, place, tenant = line[0]
            given[tenant] = given.get(tenant, 0) + 1
            if given[tenant] < rooms[tenant]:
                heapq.heapreplace(line, (had + 1 / self.weights.get(tenant, 1), place, tenant))
            else:
                heapq.heappop(line)
        return given

    def _join(self, names: Sequence[str]) -> list[float]:
        """What each of these has had; those that were not there last start with the least of the others."""
        present = [self._had[name] for name in names if name in self._had]
        least = min(present, default=0.0)
        self._had = {name: self._had.get(name, least) - least for name in names}
        return [self._had[name] for name in names]

    def note(self, taken: Iterable[str]) -> None:
        """A run of each of these tenants was started."""
        for tenant in taken:
            if tenant in self._had:
                self._had[tenant] += 1 / self.weights.get(tenant, 1)
