"""Schedules and their ticks."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from workbell.http.schemas.base import AT, Name, RequestBody, Seconds, Shown, When
from workbell.http.schemas.run_settings import RunSettingsBody, RunSettingsShown
from workbell.http.schemas.runs import RetryBody
from workbell.model.schedule import CatchUp, FireStatus, Outside, Overlap, ScheduleKind, TickOutcome

Clock = Annotated[str, Field(pattern=r"^\d{1,2}:\d{2}$")]


class RetryPolicy(RequestBody):
    """A retry policy in the words of scheduling services."""

    max_retries: int = Field(ge=0, le=1_000_000)
    backoff_ms: float = Field(1000, ge=0, le=1e12)
    backoff_type: str = Field("fixed", pattern="^(fixed|exponential)$")


class ScheduleTerms(RunSettingsBody):
    """Options of a schedule."""

    cron: str | None = Field(None, max_length=200, description="Five fields, or six with seconds first.")
    every: Seconds | None = Field(None, description="An interval in seconds.")
    anchor: When | None = None
    at: When | None = Field(None, description="Once, at this time.")
    timezone: str | None = Field(None, max_length=100)
    payload: dict[str, Any] | None = None
    window: tuple[Clock, Clock] | None = None
    outside: Outside | None = None
    overlap: Overlap | None = None
    catch_up: CatchUp | None = None
    catch_up_cap: int | None = Field(None, ge=1, le=10_000)
    jitter: Seconds | None = None
    retry: RetryBody | RetryPolicy | None = None
    description: str | None = Field(None, max_length=2000)
    created_by: str | None = Field(None, max_length=200)
    enabled: bool | None = None
    alert_url: str | None = Field(None, max_length=2000)
    ping_url: str | None = Field(None, max_length=2000)


class ScheduleBody(ScheduleTerms):
    """A schedule to put. One of `cron`, `every` and `at` says when."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "job": "send",
                    "cron": "0 3 * * *",
                    "timezone": "Europe/Paris",
                    "payload": {"to": "a@b.c"},
                    "window": ["02:00", "06:00"],
                }
            ]
        },
    )

    job: Name


class ScheduleUpdateBody(ScheduleTerms):
    """Changes of a schedule. Null takes a setting back to its default."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"cron": "0 4 * * *"}, {"window": None, "priority": 5}]}
    )

    job: Name = Field(default_factory=str, description="Another job.")


class ScheduleShown(RunSettingsShown):
    """When a job runs by itself, and how that goes."""

    id: str
    name: str = Field(examples=["nightly"])
    tenant: str
    job: str
    kind: ScheduleKind
    expression: str = Field(examples=["0 3 * * *"])
    in_words: str = Field(examples=["at 03:00"])
    timezone: str
    enabled: bool
    paused: bool
    reason: str | None
    source: str
    payload: dict[str, Any]
    next_run_at: datetime | None = Field(examples=[AT])
    last_run_at: datetime | None
    last_run_id: str | None
    run_count: int
    failure_count: int
    last_fire_status: FireStatus | None
    last_fire_at: datetime | None
    last_run_status: str | None
    last_status: str | None
    last_error: str | None
    last_scheduled_at: datetime | None
    created_at: datetime
    updated_at: datetime
    retry: dict[str, Any] | None
    retry_policy: RetryPolicy | None = Field(
        description="The same in the words of scheduling services, if they can say it."
    )
    window: list[str] | None
    outside: Outside
    overlap: Overlap
    catch_up: CatchUp
    catch_up_cap: int
    jitter: float
    description: str
    created_by: str
    alert_url: str | None
    ping_url: str | None


class TickShown(Shown):
    """Outcome of a tick of a schedule, or of a span of ticks."""

    schedule: str
    due: datetime
    outcome: TickOutcome
    created_at: datetime
    until: datetime | None
    count: int
    run: str | None
    reason: str | None


class UpcomingTicks(Shown):
    """When the next runs will be due, in UTC and by the schedule's own clock."""

    timezone: str
    items: list[datetime]
    local: list[str] = Field(description="The same times by the clock of the schedule's zone.")
    notes: list[str | None] = Field(
        description="For each of them, what a change of the clocks does to it; none, where there is nothing to say.",
        examples=[["from here on UTC+02:00"]],
    )


class CronAsked(RequestBody):
    """A timing to be tried out. One of `cron`, `every` and `at` says when, as in a schedule."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"cron": "0 3 * * MON-FRI", "timezone": "Europe/Paris"},
                {"every": 900, "window": ["02:00", "06:00"], "outside": "skip"},
            ]
        },
    )

    cron: str | None = Field(None, max_length=200, description="Five fields, or six with seconds first.")
    every: Seconds | None = Field(None, description="An interval in seconds.")
    anchor: When | None = Field(None, description="Where the interval is counted from; otherwise from now.")
    at: When | None = Field(None, description="Once, at this time.")
    timezone: str = Field("UTC", max_length=100)
    window: tuple[Clock, Clock] | None = Field(None, description="Between which runs may start.")
    outside: Outside | None = None
    n: int = Field(5, ge=1, le=100)


class CronShown(UpcomingTicks):
    in_words: str
