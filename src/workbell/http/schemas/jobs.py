"""Jobs as the API shows them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import ConfigDict, Field

from workbell.http.schemas.base import AT, RUN_ID, Name, Shown
from workbell.http.schemas.run_settings import RunSettingsBody, RunSettingsShown
from workbell.http.schemas.runs import RetryBody
from workbell.job_files.reloads import ReloadOutcome


class JobBody(RunSettingsBody):
    """A definition to put: the code of another job, with a payload template and options of its own."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"handler": "email", "payload": {"region": "eu"}, "queue": "mail"}]},
    )

    handler: Name = Field(description="The job whose code runs.")
    payload: dict[str, Any] | None = Field(None, description="The input of each run is merged onto it (RFC 7396).")
    description: str | None = Field(None, max_length=2000)
    enabled: bool | None = Field(None, description="Null: as it is; a new one is enabled.")
    retry: RetryBody | None = None
    concurrency: int | None = Field(None, ge=1, le=1_000_000, description="Most of its runs at once.")
    concurrency_key: str | None = Field(None, max_length=200, description="The argument by which that is counted.")
    rate: str | None = Field(None, max_length=50, description="Most starts in a time.", examples=["100/m"])
    rate_key: str | None = Field(None, max_length=200)
    alert_url: str | None = Field(None, max_length=2000)
    ping_url: str | None = Field(None, max_length=2000)


class JobShown(RunSettingsShown):
    """A job: its defaults and limits, and the schema of its input where its code is known here."""

    id: str | None = Field(description="Null: no worker has declared it yet.", examples=[RUN_ID])
    name: str = Field(examples=["send"])
    tenant: str
    source: str = Field(description="`code`, or `api` for a definition.", examples=["code"])
    enabled: bool
    version: int
    handler: str = Field(
        description="Where the code is; of a definition, the job whose code runs.", examples=["shop:send"]
    )
    payload: dict[str, Any] | None = Field(description="The payload template of a definition.")
    unserved: str | None = Field(description="Of a definition: why no worker takes its runs now.")
    created_at: datetime | None
    updated_at: datetime | None
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
    problems: list[JobProblem] = Field(description="Empty for a token of another tenant than the program's.")


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
