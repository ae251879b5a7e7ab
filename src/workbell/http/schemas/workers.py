"""Workers, and what they are doing."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from workbell.http.schemas.base import Shown
from workbell.http.schemas.runs import RunShown


class WorkerShown(Shown):
    """One worker process. Its `runs` are those of the tenant; `busy` counts all that it holds.

    For a token of another tenant than the program's, `id` is an alias, `host`, `incarnation` and `version` are empty,
    `pid` is 0, `jobs` are those that the tenant has, and `busy` counts the tenant's own runs.
    """

    id: str
    host: str = Field(examples=["box-1"])
    pid: int
    incarnation: str
    version: str
    queues: list[str] | None = Field(description="None: all of them.")
    jobs: list[str]
    concurrency: int
    started_at: datetime
    seen_at: datetime
    stopping: bool
    drained_at: datetime | None = Field(description="Since when it is to claim nothing more; none: it claims.")
    drain_seen_at: datetime | None = Field(
        description="When it confirmed the drain, and begins nothing more; none: it may not have read it yet."
    )
    alive: bool = Field(description="Whether it was seen lately.")
    busy: int
    runs: list[RunShown]


class WorkerList(Shown):
    items: list[WorkerShown]
