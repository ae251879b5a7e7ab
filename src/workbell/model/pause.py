"""Pause of a queue or a job: its runs are not claimed until it is resumed."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from workbell.model.clock import Instant
from workbell.model.run import Lane


class Pause(msgspec.Struct, frozen=True):
    """A pause of a queue, a job, or one job in one queue. None stands for all."""

    tenant: Annotated[str, Meta(description="Whose pause it is.")]
    queue: Annotated[str | None, Meta(description="The queue; null: every one.")]
    job: Annotated[str | None, Meta(description="The job; null: every one.")]
    since: Instant

    def covers(self, lane: Lane) -> bool:
        return lane.tenant == self.tenant and self.queue in (None, lane.queue) and self.job in (None, lane.job)

    def __str__(self) -> str:
        parts = [f"job {self.job}"] if self.job is not None else []
        parts += [f"queue {self.queue}"] if self.queue is not None else []
        return " in ".join(parts)

    @property
    def remedy(self) -> str:
        """The command that ends it."""
        if self.queue is None:
            return f"workbell jobs resume {self.job}"
        return f"workbell queues resume {self.queue}" + (f" --job {self.job}" if self.job is not None else "")
