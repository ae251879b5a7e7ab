"""State of a queue: waiting and running runs, oldest wait, pauses."""

from __future__ import annotations

from typing import Annotated

import msgspec

from workbell.model.clock import Instant


class PausedJob(msgspec.Struct, frozen=True, kw_only=True):
    """One job of a queue that is paused there."""

    job: str
    paused_since: Instant


class QueueState(msgspec.Struct, frozen=True, kw_only=True):
    """A queue that has live runs, that a job is declared for, or that is paused."""

    name: Annotated[str, msgspec.Meta(examples=["default"])]
    scheduled: int
    queued: int
    running: int
    oldest_wait_seconds: Annotated[
        float,
        msgspec.Meta(
            description="How long the first queued run has been due; those that are paused, or of a disabled "
            "definition, do not count."
        ),
    ]
    capped: Annotated[tuple[str, ...], msgspec.Meta(description="Statuses of which there may be more.")]
    paused: Annotated[bool, msgspec.Meta(description="The whole of it.")]
    paused_since: Instant | None
    paused_jobs: tuple[PausedJob, ...]
