"""Short form of a finished run, for charts of recent runs and of durations."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from workbell.model.run import Status


class EndedRun(NamedTuple):
    """A finished run without its input, error and result."""

    id: str
    status: Status
    attempt: int
    started_at: datetime | None  # of its last attempt; none, if it never was
    finished_at: datetime

    @property
    def duration(self) -> float | None:
        """Seconds that its last attempt took."""
        if self.started_at is None:
            return None
        return max((self.finished_at - self.started_at).total_seconds(), 0.0)
