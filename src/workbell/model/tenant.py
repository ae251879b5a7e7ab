"""Tenant: the owner of runs. A tenant without settings has a weight of 1 and no limits."""

from __future__ import annotations

from datetime import datetime

import msgspec

from workbell.errors import InvalidOption
from workbell.model.limit import MOST_RUNNING
from workbell.model.rate import Rate
from workbell.model.unreadable import UnreadableColumns

WEIGHTS = range(1, 1001)


class Tenant(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of a tenant. Where several have runs waiting, each gets starts in proportion to its weight."""

    name: str
    created_at: datetime
    updated_at: datetime
    description: str = ""
    weight: int = 1
    concurrency: int | None = None  # how many of its runs may be running at once, over all machines
    rate: str | None = None  # how many may start: "100/m"
    unreadable: UnreadableColumns | None = None


def check_tenant(tenant: Tenant) -> Tenant:
    """The same, if it can be used."""
    weight, concurrency = tenant.weight, tenant.concurrency
    if isinstance(weight, bool) or not isinstance(weight, int) or weight not in WEIGHTS:
        raise InvalidOption(f"weight: {weight!r} is not a whole number from 1 to {WEIGHTS[-1]:,}.")
    if concurrency is not None and (
        isinstance(concurrency, bool) or not isinstance(concurrency, int) or not 1 <= concurrency <= MOST_RUNNING
    ):
        raise InvalidOption(f"concurrency: {concurrency!r} is not a whole number from 1 to {MOST_RUNNING:,}.")
    if tenant.rate is not None:
        Rate.parse(tenant.rate)
    return tenant
