"""Retry of a run: the newest run that repeats it, and its status."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from workbell.model.run import Status


class RetryRun(NamedTuple):
    """The newest run that was made to repeat another one."""

    id: str
    status: Status
    created_at: datetime
    key: str | None = None  # as it is stored

    def as_dict(self) -> dict[str, Any]:
        return {"id": self.id, "status": self.status}
