"""A schedule: when a job is to run; and a tick: one instant at which it was due, with what came of it."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec

from workbell.model.job import TENANT


class ScheduleKind(StrEnum):
    ONCE = "once"
    INTERVAL = "interval"
    CRON = "cron"


class TickOutcome(StrEnum):
    FIRED = "fired"
    SKIPPED = "skipped"
    COALESCED = "coalesced"
    DEFERRED = "deferred"


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """The rule that makes runs; it is never the run itself, and one job may have many."""

    id: str
    name: str
    job: str
    kind: ScheduleKind
    expression: str
    timezone: str
    created_at: datetime
    updated_at: datetime
    tenant: str = TENANT
    enabled: bool = True
    next_run_at: datetime | None = None
    last_scheduled_at: datetime | None = None
    version: int = 0


class Tick(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the fire ledger: an instant of a schedule, or a span of them that shared one fate."""

    schedule: str
    due: datetime
    outcome: TickOutcome
    created_at: datetime
    until: datetime | None = None
    count: int = 1
    run: str | None = None
    reason: str | None = None
