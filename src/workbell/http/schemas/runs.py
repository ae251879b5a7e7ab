"""Runs, their attempts and their log lines."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import ConfigDict, Field

from workbell.http.schemas.base import AT, RUN_ID, Name, RequestBody, Seconds, Shown, User, When
from workbell.model.keys import KeyScope
from workbell.model.run import AttemptStatus, OnDuplicate, Status


class RetryBody(RequestBody):
    """How often a run is tried, and how long is waited in between: delay × factor^(failures − 1), up to the cap."""

    attempts: int = Field(3, ge=1, le=1_000_000, examples=[5])
    delay: Seconds = Field(1.0, examples=[1])
    factor: float = Field(2.0, ge=1, le=1000, examples=[2])
    cap: Seconds = Field(60.0, examples=[60])
    jitter: float = Field(0.1, ge=0, le=10, examples=[0.1])
    give_up_on: list[Name] = Field(default_factory=list, max_length=100, description="Errors that end the run at once.")
    only_on: list[Name] = Field(default_factory=list, max_length=100, description="If given, all other errors do.")


class RunBody(RequestBody):
    """A run to be made."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"job": "send", "input": {"to": "a@b.c"}, "delay": 60}]}
    )

    job: Name
    input: dict[str, Any] = Field(default_factory=dict)
    run_at: When | None = Field(None, description="Not before this time, with its zone.")
    delay: Seconds | None = Field(None, description="Not before this many seconds from now.")
    expires: Seconds | When | None = Field(None, description="Canceled if it has not started by then.")
    key: Name | None = Field(None, description="Of a job's runs with one key there is one at a time.")
    key_scope: KeyScope | None = Field(None, description="Among which runs: those of the job, or all of the tenant.")
    on_duplicate: OnDuplicate | None = None
    key_for: Seconds | None = Field(None, description="How long the key is taken; else while the run is live.")
    tag: Name | None = None
    replace_tag: bool | None = None
    priority: int | None = Field(None, ge=-100, le=100)
    queue: Name | None = None
    user_id: User | None = Field(None, description="A number or a text; 0 is the system.")
    target: Name | None = Field(None, description="The agent that is to run it, or `label:x`.")
    retry: RetryBody | None = None
    timeout: Seconds | None = None
    persistent: bool | None = None
    auto_reschedule: Seconds | None = None
    remove_delay: Seconds | None = None


class NewRuns(RequestBody):
    """Many runs, made in one transaction: all of them or none."""

    runs: list[RunBody] = Field(min_length=1, max_length=1000)


class MadeRun(Shown):
    """A run that stands for what was asked for."""

    id: str = Field(examples=[RUN_ID])
    status: Status


class MadeRuns(Shown):
    items: list[MadeRun]


class RunShown(Shown):
    """One execution of a job."""

    id: str = Field(examples=[RUN_ID])
    job: str = Field(examples=["send"])
    status: Status
    attempt: int
    failures: int
    losses: int
    scheduled_for: datetime = Field(examples=[AT])
    started_at: datetime | None
    finished_at: datetime | None
    input: dict[str, Any] = Field(examples=[{"to": "a@b.c"}])
    result: Any = None
    error: str | None
    error_type: str | None = Field(description="The class path of what it raised.", examples=["builtins.ValueError"])
    reason: str | None
    queue: str
    priority: int
    tag: str | None
    key: str | None
    user_id: int | str
    tenant: str
    schedule: str | None
    event: str | None
    target: str | None
    parent: str | None = Field(description="The run whose handler made it.")
    retry_of: str | None
    rescheduled_from: str | None
    persistent: bool
    expires_at: datetime | None
    remove_at: datetime | None
    progress: dict[str, Any] | None
    cancel_requested: bool = Field(description="A cancel was asked for, and its handler has not ended yet.")
    created_at: datetime
    updated_at: datetime


class RetryShown(Shown):
    """The newest run that was made by a retry."""

    id: str = Field(examples=[RUN_ID])
    status: Status


class FoundRun(RunShown):
    """A run of a list, with the newest retry of it."""

    retried_by: RetryShown | None


class AttemptShown(Shown):
    """One try of a run."""

    run: str
    number: int
    status: AttemptStatus
    started_at: datetime | None
    finished_at: datetime | None
    worker: str | None
    error: str | None
    error_type: str | None
    result: Any = None


class Attempts(Shown):
    items: list[AttemptShown]


class LogLineShown(Shown):
    run: str
    attempt: int
    line: int
    at: datetime
    level: str
    message: str


class WhyShown(Shown):
    """Why a run is not running, or how it ended."""

    run: str
    status: Status
    why: str


class CancelBody(RequestBody):
    reason: str = Field("canceled on request", min_length=1, max_length=500)


class RunCount(Shown):
    """How many there are; `capped`: there are more, and they were not counted."""

    count: int
    capped: bool
