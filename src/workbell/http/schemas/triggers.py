"""Triggers, and the retry policies of event jobs."""

from __future__ import annotations

from datetime import datetime

from pydantic import ConfigDict, Field

from workbell.http.schemas.base import RUN_ID, Name, RequestBody, Shown
from workbell.http.schemas.run_settings import RunSettingsBody, RunSettingsShown

Pattern = Field(min_length=1, max_length=256, examples=["posts.*"])
LONGEST = 3_153_600_000_000  # a hundred years


class RetryConfigBody(RequestBody):
    """How often something is tried, and how long is waited in between; what is left out is as by default."""

    max_attempts: int = Field(3, ge=1, le=1_000_000)
    initial_delay_ms: float = Field(1000, ge=0, le=LONGEST)
    backoff_multiplier: float = Field(2, ge=1, le=1000)
    max_delay_ms: float = Field(60_000, ge=0, le=LONGEST)


class NewTrigger(RunSettingsBody):
    """A job to be started on every event that matches."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"name": "mails", "event_pattern": "posts.*", "processor_name": "mail"}]},
    )

    name: Name
    event_pattern: str = Pattern
    processor_name: Name = Field(description="A job that takes an event, or `webhook-delivery`: to all endpoints.")
    description: str = Field("", max_length=2000)
    enabled: bool = True
    retry_config: RetryConfigBody | None = None


class TriggerChange(RunSettingsBody):
    """Changes of a trigger. Null counts as left out, but removes an option of its runs."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"event_pattern": "posts.**"}]})

    name: Name | None = None
    event_pattern: str | None = Field(None, min_length=1, max_length=256)
    processor_name: Name | None = None
    description: str | None = Field(None, max_length=2000)
    enabled: bool | None = None
    retry_config: RetryConfigBody | None = None


class RetryConfigShown(Shown):
    max_attempts: int
    initial_delay_ms: float
    backoff_multiplier: float
    max_delay_ms: float


class TriggerShown(RunSettingsShown):
    """Which events start which job."""

    id: str = Field(examples=[RUN_ID])
    name: str = Field(examples=["mails"])
    description: str
    event_pattern: str = Field(examples=["posts.*"])
    processor_name: str = Field(examples=["mail"])
    enabled: bool
    retry_config: RetryConfigShown | None
    source: str = Field(description="`api`, or the code that declares it.")
    tenant: str
    created_at: datetime
    updated_at: datetime


class TriggerList(Shown):
    items: list[TriggerShown]
