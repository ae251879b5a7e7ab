"""Jobs: their settings, definitions, pauses, and the reloads of job files."""

from __future__ import annotations

from types import NoneType
from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType

from workbell.model.access import Scope
from workbell.model.alert import URLS, shown_url
from workbell.model.clock import EPOCH
from workbell.model.job import Job
from workbell.model.pause import Pause
from workbell.model.reload import Reload, ReloadOutcome
from workbell.model.run_defaults import RunDefaults
from workbell.model.run_settings import SETTINGS
from workbell.model.schema_examples import RUN_ID
from workbell.model.unreadable import UNREADABLE, sentence_of, told
from workbell.wire.fields import JsonObjectOrNull, Limit, Name, Time, given, raw, text_of
from workbell.wire.operation import Items, ListPage, Operations, Query, Shown
from workbell.wire.pauses import Resumed
from workbell.wire.retry import RetryBody, RetryChangeBody, RetryShown
from workbell.wire.run_settings import RunSettingsBody, RunSettingsShown

Description = Annotated[str, Meta(max_length=2000)]
Url = Annotated[str, Meta(max_length=2000)]
Key = Annotated[str, Meta(max_length=200)]
Concurrency = Annotated[int, Meta(ge=1, le=1_000_000)]
RateText = Annotated[str, Meta(max_length=50)]


Handler = Annotated[Name, Meta(description="The job whose code runs.")]


class JobTerms(RunSettingsBody, frozen=True, kw_only=True):
    """Options of a definition."""

    input: Annotated[
        dict[str, Any] | UnsetType | None, Meta(description="The input of each run is merged onto it (RFC 7396).")
    ] = UNSET
    description: Description | UnsetType | None = UNSET
    enabled: Annotated[bool | UnsetType | None, Meta(description="Null: as it is; a new one is enabled.")] = UNSET
    concurrency: Annotated[Concurrency | UnsetType | None, Meta(description="Most of its runs at once.")] = UNSET
    concurrency_key: Annotated[Key | UnsetType | None, Meta(description="The argument by which that is counted.")] = (
        UNSET
    )
    rate: Annotated[RateText | UnsetType | None, Meta(description="Most starts in a time.", examples=["100/m"])] = UNSET
    rate_key: Key | UnsetType | None = UNSET
    alert_url: Url | UnsetType | None = UNSET
    ping_url: Url | UnsetType | None = UNSET


class JobBody(JobTerms, frozen=True, kw_only=True):
    """A definition to put: the code of another job, with an input template and options of its own."""

    handler: Handler
    retry: RetryBody | UnsetType | None = UNSET

    def options(self) -> dict[str, Any]:
        """Options of `bell.jobs.put` that the request names."""
        found = given(self)
        if isinstance(self.retry, RetryBody):
            found["retry"] = self.retry.policy()
        return found


class JobChange(JobTerms, frozen=True, kw_only=True):
    """Changes of a definition. Null takes a setting back to its default."""

    handler: Handler | UnsetType = UNSET
    retry: RetryChangeBody | UnsetType | None = UNSET

    def options(self) -> dict[str, Any]:
        """Options of `bell.jobs.update` that the request names."""
        found = given(self)
        if isinstance(self.retry, RetryChangeBody):
            found["retry"] = self.retry.change()
        return found


class JobShown(RunSettingsShown, frozen=True, kw_only=True):
    """A job: its defaults and limits, and the schema of its input where its code is known here."""

    id: Annotated[str | None, Meta(description="Null: no worker has declared it yet.", examples=[RUN_ID])]
    name: Annotated[str, Meta(examples=["send"])]
    tenant: str
    source: Annotated[str, Meta(description="`code`, or `api` for a definition.", examples=["code"])]
    enabled: Annotated[
        bool, Meta(description="False: a definition that takes no new runs; those that wait go on waiting.")
    ]
    version: Annotated[int, Meta(description="How often a definition was changed.")]
    handler: Annotated[
        str,
        Meta(description="Where the code is; of a definition, the job whose code runs.", examples=["shop:send"]),
    ]
    input: Annotated[JsonObjectOrNull, Meta(description="The input template of a definition.")]
    unserved: Annotated[str | None, Meta(description="Of a definition: why no worker takes its runs now.")]
    created_at: Time | None
    updated_at: Annotated[Time | None, Meta(description="When it was last put, or declared by a worker.")]
    file_path: str | None
    here: Annotated[bool, Meta(description="Whether the server itself knows the code.")]
    description: str
    queue: str
    retry: RetryShown | None
    concurrency: Annotated[int | None, Meta(description="Most of its runs at once, over all machines.")]
    concurrency_key: Annotated[str | None, Meta(description="The argument by whose value that is counted.")]
    rate: Annotated[str | None, Meta(description="Most starts in a time, such as `100/m`.")]
    rate_key: Annotated[str | None, Meta(description="The argument by whose value that is counted.")]
    processor: Annotated[bool, Meta(description="Whether its handler takes an event, so that a trigger can start it.")]
    paused: bool
    schedule: Annotated[str | None, Meta(description="The cron text of its file or code.")]
    on: Annotated[tuple[str, ...], Meta(description="Patterns of the events that start it.")]
    alert_url: Annotated[str | None, Meta(description="Called when a run fails for good.")]
    ping_url: Annotated[str | None, Meta(description="Called at every end of a run.")]
    input_schema: Annotated[dict[str, Any] | None, Meta(description="JSON Schema of its arguments.")]
    unreadable: Annotated[str | None, Meta(description=UNREADABLE)]

    @classmethod
    def of(cls, job: Job, **known: Any) -> JobShown:
        """A job as it is sent; `known` are the fields that are not stored with it, such as `paused` and `here`."""
        return cls(
            **{name: getattr(job, name) for name in _PLAIN},
            **{name: getattr(job.options, name) for name in SETTINGS},
            id=job.id or None,
            created_at=job.created_at if job.id else None,
            updated_at=job.updated_at if job.id else None,
            unreadable=sentence_of(job),
            input=raw(job.input_text if job.is_definition else None),
            retry=RetryShown.of(job.retry),
            alert_url=shown_url(job.alert_url),
            ping_url=shown_url(job.ping_url),
            **known,
        )

    def value(self) -> Job:
        """The job, with what a server shows of its URLs."""
        return Job(
            **{name: getattr(self, name) for name in (*_PLAIN, *URLS)},
            id=self.id or "",
            created_at=self.created_at or EPOCH,
            updated_at=self.updated_at or EPOCH,
            input_text=text_of(self.input),
            unreadable=told(self.unreadable),
            retry=None if self.retry is None else self.retry.value(),
            options=RunDefaults(**{name: getattr(self, name) for name in SETTINGS}),
        )


_CONVERTED = frozenset({"id", "created_at", "updated_at", "retry", "options", "unreadable", *URLS})
_PLAIN = [name for name in Job.__struct_fields__ if name in JobShown.__struct_fields__ and name not in _CONVERTED]


class JobProblem(Shown, frozen=True, kw_only=True):
    """Error in a job file; its last good version goes on."""

    path: str
    line: int | None
    message: str


class JobList(ListPage[JobShown], frozen=True, kw_only=True):
    """A page of jobs, and what is wrong with job files."""

    problems: Annotated[list[JobProblem], Meta(description="Empty for a token of another tenant than the program's.")]


class ReloadShown(Shown, frozen=True, kw_only=True):
    """Reload of one saved job file, or one error in it."""

    id: Annotated[str, Meta(description="Counted from the start of the server.", examples=["7"])]
    at: Time
    path: Annotated[str, Meta(examples=["jobs/nightly.py"])]
    outcome: Annotated[ReloadOutcome, Meta(description="`failed`: its last good version goes on, if there is one.")]
    message: Annotated[str | None, Meta(description="What is wrong, and what to do.")]
    line: Annotated[int | None, Meta(description="On which line that is.")]
    jobs: Annotated[tuple[str, ...], Meta(description="The jobs of the file.", examples=[["nightly"]])]
    standing: Annotated[bool, Meta(description="Whether it failed, and is still wrong.")]

    @classmethod
    def of(cls, entry: Reload) -> ReloadShown:
        own = entry._asdict()
        return cls(id=str(own.pop("number")), **own)


class JobsQuery(Query, frozen=True, kw_only=True):
    after: Annotated[str, Meta(max_length=200, description="The cursor: `next` of the page before.")] = ""
    limit: Limit = 1000


class ReloadsQuery(Query, frozen=True, kw_only=True):
    limit: Annotated[int, Meta(ge=1, le=100)] = 20


operations = Operations("jobs")

list_ = operations.add(
    "list",
    "GET",
    "/jobs",
    Scope.READ,
    JobList,
    """List the jobs by name, and what is wrong with job files.

Problems of files are shown to those who may see the tenant of the program, whose files they are: an error may quote
what a file has loaded.""",
    query=JobsQuery,
)
reloads = operations.add(
    "reloads",
    "GET",
    "/reloads",
    Scope.READ,
    Items[ReloadShown],
    """List the reloads of job files since the server started, newest first.

Of the tenant of the program, whose files they are. A broken file keeps its last good version; a server that does
not watch files (`workbell start` without `--watch`) has only what was wrong when it started.""",
    query=ReloadsQuery,
)
get = operations.add(
    "get",
    "GET",
    "/jobs/{name}",
    Scope.READ,
    JobShown,
    "Show a job.",
    versioned=True,
)
put = operations.add(
    "put",
    "PUT",
    "/jobs/{name}",
    Scope.OPERATE,
    JobShown,
    """Make or replace a definition: put again with the same settings, nothing changes.

Every setting is replaced: one that you leave out is not set any more, but `enabled` stays. `PATCH` changes single ones.
With `If-Match` only if it is still as it was read; with `If-None-Match: *` only if there is none. A job that code
declares is changed there.""",
    body=JobBody,
    shown=JobShown,
    examples=[{"handler": "email", "input": {"region": "eu"}, "queue": "mail"}],
    versioned=True,
)
change = operations.add(
    "change",
    "PATCH",
    "/jobs/{name}",
    Scope.OPERATE,
    JobShown,
    """Change what is named, and leave the rest; null takes a setting back to its default.

With `If-Match` only if it is still as it was read. A job that code declares is changed there.""",
    body=JobChange,
    shown=JobShown,
    examples=[{"timeout": 30}, {"queue": "mail", "rate": None}],
    versioned=True,
    verb="jobs.update",
)
enable = operations.add(
    "enable",
    "POST",
    "/jobs/{name}/enable",
    Scope.OPERATE,
    JobShown,
    "Let a definition take runs again; those that wait go on.",
    versioned=True,
)
disable = operations.add(
    "disable",
    "POST",
    "/jobs/{name}/disable",
    Scope.OPERATE,
    JobShown,
    "Take no new runs of a definition; those that wait go on waiting, and what is running ends.",
    versioned=True,
)
delete = operations.add(
    "delete",
    "DELETE",
    "/jobs/{name}",
    Scope.OPERATE,
    NoneType,
    """Remove a definition; its runs stay, and those that wait go on waiting until it is put again.

Refused while a schedule or a trigger names it.""",
    status=204,
    versioned=True,
)
pause = operations.add(
    "pause",
    "POST",
    "/jobs/{name}/pause",
    Scope.OPERATE,
    Pause,
    "Start no more runs of a job until it is resumed.",
    versioned=True,
)
resume = operations.add(
    "resume",
    "POST",
    "/jobs/{name}/resume",
    Scope.OPERATE,
    Resumed,
    "End the pause of a job.",
    versioned=True,
)
