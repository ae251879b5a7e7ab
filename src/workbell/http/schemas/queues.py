"""Queues: what waits in each, and pausing one."""

from __future__ import annotations

from datetime import datetime

from pydantic import ConfigDict, Field

from workbell.http.schemas.base import Name, RequestBody, Shown


class PausedJob(Shown):
    """One job of a queue that is paused there."""

    job: str
    paused_since: datetime


class QueueShown(Shown):
    """A queue that has live runs, that a job is declared for, or that is paused."""

    name: str = Field(examples=["default"])
    scheduled: int
    queued: int
    running: int
    oldest_wait_seconds: float = Field(description="How long the first of those that are queued has been due.")
    paused: bool = Field(description="The whole of it.")
    paused_since: datetime | None
    paused_jobs: list[PausedJob]


class Queues(Shown):
    items: list[QueueShown]


class QueueBody(RequestBody):
    """Only the runs of one job in the queue."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"job": "send"}]})

    job: Name | None = None
