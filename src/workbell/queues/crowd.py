"""Where there are more lanes than one look shows: some lanes of every tenant, so that none waits until its page comes.

Lanes are looked at page by page in the order of their ids. A tenant with very many of them would fill almost every
page, and another with a few would hardly ever be seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from workbell.stores.port import Head, Store

FRESH = timedelta(seconds=1)
AT_ONCE = 50  # tenants that are asked for in one go; where there are more, they go round
LANES = 20  # of each


class Crowd:
    """Lanes of all tenants, as they were a moment ago. One that has nothing any more costs a claim next to nothing."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._looked_at: datetime | None = None
        self._kept: dict[str, Sequence[Head]] = {}
        self._next = 0

    def beside(self, page: Sequence[Head], now: datetime) -> list[Head]:
        """Lanes of the tenants that a page does not show."""
        if self._looked_at is None or abs(now - self._looked_at) >= FRESH:
            self._looked_at = now
            self._look()
        shown = {head.lane.tenant for head in page}
        return [head for tenant, heads in self._kept.items() if tenant not in shown for head in heads]

    def _look(self) -> None:
        tenants = self._store.tenants.known()
        self._kept = {tenant: self._kept[tenant] for tenant in tenants if tenant in self._kept}
        start = self._next % len(tenants) if tenants else 0
        for tenant in (tenants[start:] + tenants[:start])[:AT_ONCE]:
            self._kept[tenant] = self._store.survey_tenant(tenant, LANES)
        self._next = start + AT_ONCE
