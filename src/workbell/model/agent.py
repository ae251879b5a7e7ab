"""An agent: a program on another machine that works over HTTP, for the runs that are aimed at it.

A run's target is the name of an agent, or `label:gpu` for any agent that has the label.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from workbell.model.job import TENANT

LABEL = "label:"
LOST_AFTER = timedelta(seconds=45)


class Agent(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of an agent. What it holds is decided by leases alone, never by when it was seen."""

    id: str
    name: str
    created_at: datetime
    tenant: str = TENANT
    labels: tuple[str, ...] = ()
    jobs: tuple[str, ...] | None = None  # what it said it can run; none: it has not said
    version: str = ""
    host: str = ""
    metrics_text: str | None = None  # what it told of itself last, as JSON
    seen_at: datetime | None = None
    enabled: bool = True

    @property
    def targets(self) -> tuple[str, ...]:
        """What a run may be aimed at for this agent to get it."""
        return (self.name, *(f"{LABEL}{label}" for label in self.labels))

    def is_alive(self, now: datetime) -> bool:
        return self.seen_at is not None and now - self.seen_at <= LOST_AFTER
