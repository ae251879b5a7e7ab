"""Upcoming ticks of schedules, and the preview of a timing."""

from __future__ import annotations

from typing import Annotated

import msgspec

from workbell.model.clock import Instant
from workbell.model.schema_examples import AT


class UpcomingTick(msgspec.Struct, frozen=True, kw_only=True):
    """When a schedule will make its next run."""

    schedule: Annotated[str, msgspec.Meta(examples=["nightly"])]
    job: Annotated[str, msgspec.Meta(examples=["send"])]
    due: Annotated[Instant, msgspec.Meta(description="In the past, if no scheduler runs.", examples=[AT])]
    timezone: Annotated[str, msgspec.Meta(examples=["Europe/Paris"])]
    in_words: Annotated[str, msgspec.Meta(examples=["at 03:00, every day, Europe/Paris"])]


class UpcomingTicks(msgspec.Struct, frozen=True, kw_only=True):
    """When the next runs will be due, in UTC and by the schedule's own clock."""

    timezone: str
    items: tuple[Instant, ...]
    local: Annotated[tuple[str, ...], msgspec.Meta(description="The same times by the clock of the schedule's zone.")]
    notes: Annotated[
        tuple[str | None, ...],
        msgspec.Meta(
            description="For each of them, what a change of the clocks does to it; none, where there is nothing to "
            "say.",
            examples=[["from here on UTC+02:00"]],
        ),
    ]


class TriedTiming(UpcomingTicks, frozen=True, kw_only=True):
    """A timing that was tried out: in words, and when its next runs would be due."""

    in_words: str
