"""Load of queues for autoscalers: how many runs wait and run, and how many slots of workers they want."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

MOST_COUNTED = 10_000  # queued, and running, runs of a job in a queue: more replicas than that nobody has
MOST_SHOWN = 1000  # queues in an answer for which none was named


class QueueScale(msgspec.Struct, frozen=True, kw_only=True):
    """Load of a queue, without runs for agents; those of a job are counted up to 10,000."""

    queued: Annotated[int, Meta(description="Runs that are due and wait, also those that are held back.")] = 0
    running: Annotated[int, Meta(description="Runs that a worker has claimed, also ahead of time.")] = 0
    due_seconds: Annotated[
        float,
        Meta(
            description="How long the first of those that wait has been due; without those that are paused, or of a "
            "disabled definition."
        ),
    ] = 0.0
    wanted: Annotated[
        int,
        Meta(
            description="Slots of workers (`concurrency`) for all of it: running, and queued without what is held back."
        ),
    ] = 0


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    """Load of queues by name, and of all of them together."""

    queues: Annotated[
        dict[str, QueueScale],
        Meta(description="Every queue that was asked for, also an unknown one; if none was, the 1,000 that want most."),
    ]
    total: Annotated[QueueScale, Meta(description="All of those that were asked for; if none was, all queues.")]


def add_up(parts: list[QueueScale]) -> QueueScale:
    return QueueScale(
        queued=sum(part.queued for part in parts),
        running=sum(part.running for part in parts),
        due_seconds=max((part.due_seconds for part in parts), default=0.0),
        wanted=sum(part.wanted for part in parts),
    )
