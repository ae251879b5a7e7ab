"""Cache of the weights and limits of tenants: read again every second, so that a claim costs no read for them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from workbell.model.limit import Limit, limit_of_tenant
from workbell.stores.port import Store

CACHED_FOR = timedelta(seconds=1)


class TenantCache:
    """The weights that are not 1, and the limits of the tenants that have any."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._read_at: datetime | None = None
        self.weights: Mapping[str, int] = {}
        self.limits: Mapping[str, Limit] = {}

    def refresh(self, now: datetime) -> None:
        """Read them, unless that was less than a second ago."""
        if self._read_at is not None and abs(now - self._read_at) < CACHED_FOR:
            return
        self._read_at = now
        tenants = self._store.tenants.list()
        self.weights = {tenant.name: tenant.weight for tenant in tenants if tenant.weight != 1}
        found = ((one.name, limit_of_tenant(one.name, one.concurrency, one.rate)) for one in tenants)
        self.limits = {name: limit for name, limit in found if limit is not None}
