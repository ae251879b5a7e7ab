"""Pause of a queue or a job: its runs are not claimed until it is resumed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
    def position(self) -> str:
        """Sort key within a tenant, and cursor of lists. Unique: `job a in queue b` may be a job's whole name."""
        return f"{self}\n{self.queue or ''}"

    @property
    def remedy(self) -> str:
        """The command that ends it."""
        if self.queue is None:
            return f"workbell jobs resume {self.job}"
        return f"workbell queues resume {self.queue}" + (f" --job {self.job}" if self.job is not None else "")


def any_covers(pauses: Iterable[Pause]) -> Callable[[Lane], bool]:
    """Whether one of these pauses covers a lane: a lookup, however many pauses there are."""
    known = {(pause.tenant, pause.queue, pause.job) for pause in pauses}

    def covered(lane: Lane) -> bool:
        names = [(lane.tenant, queue, job) for queue in (None, lane.queue) for job in (None, lane.job)]
        return not known.isdisjoint(names)

    return covered
