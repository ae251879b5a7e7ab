"""Runs, made by hand, in any state."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from workbell.model.run import Lane, Run, Status

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)
ID = "01890000-0000-7000-8000-000000000001"


def run_in(status: Status, **fields: Any) -> Run:
    """A run as it is found in this status, with anything about it changed."""
    run = Run(ID, Lane("default", "default", "send"), status, 0, NOW, NOW, NOW)
    if status is Status.RUNNING:
        taken = {"attempt": 1, "token": 1, "worker": "w1", "lease_until": NOW + timedelta(seconds=30)}
        fields = {**taken, "started_at": NOW, **fields}
    return msgspec.structs.replace(run, **fields)
