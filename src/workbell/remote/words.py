"""Decoders of answers: each becomes the value that the method of Workbell returns."""

from __future__ import annotations

from datetime import datetime

import msgspec

from workbell.model.clock import EPOCH
from workbell.model.endpoint import Health
from workbell.model.event import Event
from workbell.model.job import QUEUE, Job
from workbell.model.request import encoded
from workbell.model.run import Attempt, AttemptStatus, Lane, Options, Run, Status
from workbell.model.run_defaults import RUN_WORDS, RunDefaults
from workbell.model.schedule import FireStatus, Schedule, ScheduleKind, ScheduleOptions
from workbell.model.trigger import OPTION_FIELDS, RetryConfig, Trigger, retry_from
from workbell.model.users import UserId, user_number, user_text
from workbell.model.worker import SeenWorker, Worker
from workbell.remote.readers import many, one, page

NULL = msgspec.Raw(b"null")
ELSEWHERE = "(another process)"  # accepted a run that is not to outlive it; the API does not say which


class RunWords(msgspec.Struct, frozen=True):
    """A run as the API shows it."""

    id: str
    job: str
    status: Status
    queue: str
    tenant: str
    scheduled_for: datetime
    created_at: datetime
    updated_at: datetime
    attempt: int = 0
    failures: int = 0
    losses: int = 0
    priority: int = 0
    target: str | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    input: msgspec.Raw = NULL
    result: msgspec.Raw = NULL
    progress: msgspec.Raw = NULL
    error: str | None = None
    reason: str | None = None
    tag: str | None = None
    key: str | None = None
    user_id: UserId = 0
    schedule: str | None = None
    event: str | None = None
    parent: str | None = None
    retry_of: str | None = None
    rescheduled_from: str | None = None
    persistent: bool = True
    expires_at: datetime | None = None
    remove_at: datetime | None = None
    cancel_requested: bool = False

    def value(self) -> Run:
        return Run(
            self.id,
            Lane(self.tenant, self.queue, self.job, self.target),
            self.status,
            -self.priority,
            self.scheduled_for,
            self.created_at,
            self.updated_at,
            attempt=self.attempt,
            failures=self.failures,
            losses=self.losses,
            cancel_requested=self.cancel_requested,
            started_at=self.started_at,
            input_text=text(self.input),
            tag=self.tag,
            key_text=self.key,
            options_text=encoded(Options(user=user_text(self.user_id), parent=self.parent)),
            user_number=user_number(self.user_id),
            schedule=self.schedule,
            event=self.event,
            retry_of=self.retry_of,
            rescheduled_from=self.rescheduled_from,
            accepted_by=None if self.persistent else ELSEWHERE,
            expires_at=self.expires_at,
            progress_text=text(self.progress),
            error=self.error,
            reason=self.reason,
            finished_at=self.finished_at,
            result_text=text(self.result),
            remove_at=self.remove_at,
        )


class AttemptWords(msgspec.Struct, frozen=True):
    run: str
    number: int
    status: AttemptStatus
    started_at: datetime | None = None
    finished_at: datetime | None = None
    worker: str | None = None
    error: str | None = None
    result: msgspec.Raw = NULL

    def value(self) -> Attempt:
        return Attempt(
            self.run,
            self.number,
            self.status,
            self.started_at,
            self.finished_at,
            self.worker,
            self.error,
            text(self.result),
        )


class WhyWords(msgspec.Struct, frozen=True):
    why: str


class HealthWords(msgspec.Struct, frozen=True):
    """State of an endpoint, some of the fields that the API shows."""

    id: str
    failures_in_a_row: int = 0
    failing_since: datetime | None = None
    last_success_at: datetime | None = None
    last_failure_at: datetime | None = None

    def value(self) -> Health:
        return Health(self.id, self.failures_in_a_row, self.failing_since, self.last_success_at, self.last_failure_at)


class WorkerWords(Worker, frozen=True, kw_only=True):
    """A worker, and what it does."""

    alive: bool
    busy: int
    runs: list[RunWords]

    def value(self) -> SeenWorker:
        own = {name: getattr(self, name) for name in Worker.__struct_fields__}
        return SeenWorker(Worker(**own), self.alive, self.busy, [run.value() for run in self.runs])


class EventWords(msgspec.Struct, frozen=True):
    id: str
    type: str
    source: str
    time: datetime
    tenant: str
    created_at: datetime
    subject: str | None = None
    data: msgspec.Raw = NULL
    key: str | None = None
    system: bool = False
    depth: int = 0
    cause: str | None = None
    fanned_out_at: datetime | None = None

    def value(self) -> Event:
        return Event(
            self.id,
            self.tenant,
            self.type,
            self.source,
            self.time,
            self.created_at,
            subject=self.subject,
            data_text=bytes(self.data).decode(),
            key=self.key,
            system=self.system,
            depth=self.depth,
            cause=self.cause,
            fanned_out_at=self.fanned_out_at,
        )


class TriggerWords(RunDefaults, frozen=True, kw_only=True):
    id: str
    name: str
    event_pattern: str
    processor_name: str
    tenant: str
    created_at: datetime
    updated_at: datetime
    description: str = ""
    enabled: bool = True
    retry_config: RetryConfig | None = None
    source: str = "api"

    def value(self) -> Trigger:
        return Trigger(
            id=self.id,
            name=self.name,
            pattern=self.event_pattern,
            job=self.processor_name,
            tenant=self.tenant,
            created_at=self.created_at,
            updated_at=self.updated_at,
            description=self.description,
            enabled=self.enabled,
            retry=retry_from(self.retry_config),
            source=self.source,
            options=RunDefaults(**{word: getattr(self, word) for word in OPTION_FIELDS}),
        )


class JobWords(RunDefaults, frozen=True, kw_only=True):
    """A job as the API shows it: its options stand beside the rest."""

    name: str
    tenant: str
    handler: str
    source: str
    version: int
    id: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    description: str = ""
    payload: msgspec.Raw = NULL
    enabled: bool = True
    processor: bool = False
    concurrency: int | None = None
    concurrency_key: str | None = None
    rate: str | None = None
    rate_key: str | None = None
    alert_url: str | None = None
    ping_url: str | None = None

    def value(self) -> Job:
        own = ("queue", "retry", "timeout")
        return Job(
            id=self.id or "",
            name=self.name,
            tenant=self.tenant,
            handler=self.handler,
            source=self.source,
            version=self.version,
            created_at=self.created_at or EPOCH,
            updated_at=self.updated_at or EPOCH,
            description=self.description,
            payload_template=text(self.payload),
            enabled=self.enabled,
            processor=self.processor,
            queue=self.queue or QUEUE,
            retry=self.retry,
            timeout=self.timeout,
            concurrency=self.concurrency,
            concurrency_key=self.concurrency_key,
            rate=self.rate,
            rate_key=self.rate_key,
            alert_url=self.alert_url,
            ping_url=self.ping_url,
            options=RunDefaults(**{word: getattr(self, word) for word in RUN_WORDS if word not in own}),
        )


class ScheduleWords(ScheduleOptions, frozen=True, kw_only=True):
    """A schedule as the API shows it: its settings stand beside the rest."""

    id: str
    name: str
    tenant: str
    job: str
    kind: ScheduleKind
    expression: str
    timezone: str
    created_at: datetime
    updated_at: datetime
    payload: msgspec.Raw = NULL  # type: ignore[assignment]  # as JSON here, as its text there
    enabled: bool = True
    paused: bool = False
    reason: str | None = None
    source: str = ""
    next_run_at: datetime | None = None
    last_run_at: datetime | None = None
    last_run_id: str | None = None
    run_count: int = 0
    failure_count: int = 0
    last_fire_status: FireStatus | None = None
    last_fire_at: datetime | None = None
    last_run_status: str | None = None
    last_status: str | None = None
    last_error: str | None = None
    last_scheduled_at: datetime | None = None

    def value(self) -> Schedule:
        settings = {name: getattr(self, name) for name in ScheduleOptions.__struct_fields__ if name != "payload"}
        own = {name: getattr(self, name) for name in TAKEN_OVER}
        # The API says which of the two statuses is newer, and not when the run ended.
        ran = self.last_run_status is not None and self.last_status == self.last_run_status
        return Schedule(
            **own,
            options=ScheduleOptions(payload=text(self.payload), **settings),
            failed_runs=self.failure_count,
            last_run_ended_at=(self.last_fire_at or self.updated_at) if ran else None,
        )


TAKEN_OVER = [
    name
    for name in Schedule.__struct_fields__
    if name in ScheduleWords.__struct_fields__ and name not in ScheduleOptions.__struct_fields__
]


def text(raw: msgspec.Raw) -> str | None:
    """JSON as text, as our values store it."""
    decoded = bytes(raw).decode()
    return None if decoded == "null" else decoded


read_run, read_runs, read_page_of_runs = one(RunWords), many(RunWords), page(RunWords)
read_attempts = many(AttemptWords)
read_health, read_worker, read_workers = one(HealthWords), one(WorkerWords), page(WorkerWords)
read_event, read_events = one(EventWords), page(EventWords)
read_job, read_jobs = one(JobWords), page(JobWords)
read_trigger, read_triggers = one(TriggerWords), page(TriggerWords)
read_schedule, read_schedules = one(ScheduleWords), page(ScheduleWords)
