"""Delivery: the run that sends one event to one webhook endpoint."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from workbell.model.run import Status


class Delivery(msgspec.Struct, frozen=True):
    """A delivery: a run, in the words of webhooks."""

    id: str
    endpoint: str
    event: str | None
    status: Status
    attempts: int
    created_at: datetime
    status_code: int | None = None
    duration_ms: float | None = None
    answer: str | None = None
    error: str | None = None
    next_attempt_at: datetime | None = None
    finished_at: datetime | None = None

    def as_dict(self) -> dict[str, Any]:
        return msgspec.structs.asdict(self)
