"""The last runs of jobs and the next ticks of schedules, in few words."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from workbell.http.schemas.base import AT, RUN_ID, Shown

Ended = Literal["succeeded", "failed", "canceled"]


class RecentRun(Shown):
    """A run that has ended."""

    id: str = Field(examples=[RUN_ID])
    status: Ended
    started_at: datetime | None = Field(description="Of its last attempt; none, if it never was.", examples=[AT])
    finished_at: datetime = Field(examples=[AT])
    duration: float | None = Field(description="Seconds that its last attempt took.", examples=[1.5])
    attempts: int = Field(examples=[1])


class RecentRuns(Shown):
    """The last finished runs of a job, and how long those of the last 200 took that succeeded or failed."""

    job: str = Field(examples=["send"])
    runs: list[RecentRun] = Field(description="Newest first, by when they were made.")
    count: int = Field(description="How many runs the numbers below are of.", examples=[200])
    failed: int = Field(description="How many of them failed.", examples=[3])
    since: datetime | None = Field(description="When the first of them ended.", examples=[AT])
    p50: float | None = Field(description="Half of them took no more seconds than this.", examples=[0.4])
    p95: float | None = Field(description="Nineteen of twenty took no more seconds than this.", examples=[2.5])
    longest: float | None = Field(examples=[3.1])


class Recent(Shown):
    items: list[RecentRuns]


class UpcomingTick(Shown):
    """When a schedule will make its next run."""

    schedule: str = Field(examples=["nightly"])
    job: str = Field(examples=["send"])
    due: datetime = Field(description="In the past, if no scheduler runs.", examples=[AT])
    timezone: str = Field(examples=["Europe/Paris"])
    in_words: str = Field(examples=["at 03:00, every day, Europe/Paris"])


class Upcoming(Shown):
    items: list[UpcomingTick]
