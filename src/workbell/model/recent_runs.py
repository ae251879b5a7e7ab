"""Recent finished runs of a job, with their durations."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from workbell.model.clock import Instant
from workbell.model.schema_examples import AT, RUN_ID

Ended = Literal["succeeded", "failed", "canceled"]


class RecentRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run that has ended."""

    id: Annotated[str, msgspec.Meta(examples=[RUN_ID])]
    status: Ended
    started_at: Annotated[
        Instant | None, msgspec.Meta(description="Of its last attempt; none, if it never was.", examples=[AT])
    ]
    finished_at: Annotated[Instant, msgspec.Meta(examples=[AT])]
    duration: Annotated[float | None, msgspec.Meta(description="Seconds that its last attempt took.", examples=[1.5])]
    attempts: Annotated[int, msgspec.Meta(examples=[1])]


class RecentRuns(msgspec.Struct, frozen=True, kw_only=True):
    """The last finished runs of a job, and how long those of the last 200 took that succeeded or failed."""

    job: Annotated[str, msgspec.Meta(examples=["send"])]
    runs: Annotated[tuple[RecentRun, ...], msgspec.Meta(description="Newest first, by when they were made.")]
    count: Annotated[int, msgspec.Meta(description="How many runs the numbers below are of.", examples=[200])]
    failed: Annotated[int, msgspec.Meta(description="How many of them failed.", examples=[3])]
    since: Annotated[Instant | None, msgspec.Meta(description="When the first of them ended.", examples=[AT])]
    p50: Annotated[
        float | None, msgspec.Meta(description="Half of them took no more seconds than this.", examples=[0.4])
    ]
    p95: Annotated[
        float | None, msgspec.Meta(description="Nineteen of twenty took no more seconds than this.", examples=[2.5])
    ]
    longest: Annotated[float | None, msgspec.Meta(examples=[3.1])]
