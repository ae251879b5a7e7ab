"""Schema of tallies: finished runs over time."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from workbell.http.schemas.base import AT, Shown


class Ends(Shown):
    """Numbers of finished attempts by outcome."""

    succeeded: int = Field(examples=[41])
    failed: int = Field(description="For good: they are not tried again.", examples=[1])
    canceled: int = Field(examples=[0])
    retried: int = Field(description="Attempts that failed, and after which the run is tried again.", examples=[2])


class EndsOfStep(Ends):
    at: datetime = Field(description="When the step begins.", examples=[AT])


class EndsOfJob(Ends):
    job: str = Field(examples=["send"])


class TalliesShown(Shown):
    """Finished attempts in a span of time, step by step and by job."""

    since: datetime = Field(description="When the first step begins.", examples=[AT])
    until: datetime = Field(description="Now, by the store's clock; the last step may not be over.", examples=[AT])
    step: int = Field(description="Seconds of a step.", examples=[60])
    items: list[EndsOfStep] = Field(description="Every step, also those in which nothing ended, oldest first.")
    jobs: list[EndsOfJob] = Field(description="Over the whole span; most failures first, then most runs; at most 100.")
