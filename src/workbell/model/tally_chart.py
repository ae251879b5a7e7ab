"""Chart of tallies: finished runs over time, by steps and by job."""

from __future__ import annotations

from typing import Annotated

import msgspec

from workbell.model.clock import Instant
from workbell.model.schema_examples import AT

LONGEST_CHART = 7 * 24 * 60  # minutes


class Ends(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers of finished attempts by outcome."""

    succeeded: Annotated[int, msgspec.Meta(examples=[41])]
    failed: Annotated[int, msgspec.Meta(description="For good: they are not tried again.", examples=[1])]
    canceled: Annotated[int, msgspec.Meta(examples=[0])]
    retried: Annotated[
        int,
        msgspec.Meta(description="Attempts that failed, and after which the run is tried again.", examples=[2]),
    ]


class EndsOfStep(Ends, frozen=True, kw_only=True):
    """Numbers of one step of time."""

    at: Annotated[Instant, msgspec.Meta(description="When the step begins.", examples=[AT])]


class EndsOfJob(Ends, frozen=True, kw_only=True):
    """Numbers of one job."""

    job: Annotated[str, msgspec.Meta(examples=["send"])]


class TallyChart(msgspec.Struct, frozen=True, kw_only=True):
    """Finished attempts in a span of time, step by step and by job."""

    since: Annotated[Instant, msgspec.Meta(description="When the first step begins.", examples=[AT])]
    until: Annotated[
        Instant,
        msgspec.Meta(description="Now, by the store's clock; the last step may not be over.", examples=[AT]),
    ]
    step: Annotated[int, msgspec.Meta(description="Seconds of a step.", examples=[60])]
    items: Annotated[
        tuple[EndsOfStep, ...],
        msgspec.Meta(description="Every step, also those in which nothing ended, oldest first."),
    ]
    jobs: Annotated[
        tuple[EndsOfJob, ...],
        msgspec.Meta(description="Over the whole span; most failures first, then most runs; at most 100."),
    ]
