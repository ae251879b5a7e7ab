"""Jobs as the API shows them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from workbell.http.schemas.base import AT, Shown
from workbell.http.schemas.run_settings import RunSettingsShown
from workbell.http.schemas.runs import RetryBody
from workbell.job_files.reloads import ReloadOutcome


class JobShown(RunSettingsShown):
    """A job: its defaults and limits, and the schema of its input where its code is known here."""

    name: str = Field(examples=["send"])
    handler: str = Field(examples=["shop:send"])
    file_path: str | None
    here: bool = Field(description="Whether the server itself knows the code.")
    description: str
    queue: str
    retry: RetryBody | None
    concurrency: int | None
    concurrency_key: str | None
    rate: str | None
    rate_key: str | None
    processor: bool
    paused: bool
    schedule: str | None = Field(description="The cron text of its file or code.")
    on: list[str] = Field(description="Patterns of the events that start it.")
    alert_url: str | None
    ping_url: str | None
    input_schema: dict[str, Any] | None = Field(description="JSON Schema of its arguments.")


class JobProblem(Shown):
    """Error in a job file; its last good version goes on."""

    path: str
    line: int | None
    message: str


class JobList(Shown):
    items: list[JobShown]
    problems: list[JobProblem]


class ReloadShown(Shown):
    """Reload of one saved job file, or one error in it."""

    id: str = Field(description="Counted from the start of the server.", examples=["7"])
    at: datetime = Field(examples=[AT])
    path: str = Field(examples=["jobs/nightly.py"])
    outcome: ReloadOutcome = Field(description="`failed`: its last good version goes on, if there is one.")
    message: str | None = Field(description="What is wrong, and what to do.")
    line: int | None = Field(description="On which line that is.")
    jobs: list[str] = Field(description="The jobs of the file.", examples=[["nightly"]])
    standing: bool = Field(description="Whether it failed, and is still wrong.")


class ReloadsShown(Shown):
    items: list[ReloadShown]


class PauseShown(Shown):
    """A pause: what is paused, and since when; none stands for all."""

    tenant: str
    queue: str | None
    job: str | None
    since: datetime


class PauseList(Shown):
    items: list[PauseShown]


class Resumed(Shown):
    ended: int = Field(description="How many pauses ended.")
