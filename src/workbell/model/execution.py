"""Executions and invocations: runs that events made, and their attempts, as views in the words of event jobs."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID, uuid5

import msgspec
from msgspec import Meta

from workbell.model.clock import Instant
from workbell.model.run import PENDING, Attempt, AttemptStatus, Run, Status
from workbell.model.schema_examples import RUN_ID


class ExecutionStatus(StrEnum):
    """The four words for where an execution is. One that waits for a retry is pending, and says when."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"


class InvocationStatus(StrEnum):
    RUNNING = "running"
    SUCCESS = "success"
    FAILED = "failed"


class Execution(msgspec.Struct, frozen=True, kw_only=True):
    """The execution of an event for one trigger. `job_id` is the trigger's id; `id` is that of the run behind it."""

    id: Annotated[str, Meta(description="That of the run behind it.", examples=[RUN_ID])]
    job_id: Annotated[str | None, Meta(description="The id of the trigger.")]
    event_id: str | None
    status: ExecutionStatus
    attempt_number: Annotated[int, Meta(description="Of the last attempt that began; 0 before the first.")]
    started_at: Instant | None
    completed_at: Instant | None
    error: str | None
    result: Any
    next_retry_at: Instant | None
    locked: Annotated[Instant | None, Meta(description="Since when a worker holds it.")]
    created_at: Instant

    def as_dict(self) -> dict[str, Any]:
        return msgspec.structs.asdict(self)


class Invocation(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt of an execution."""

    id: str
    execution_id: str
    attempt_number: int
    started_at: Instant | None
    completed_at: Instant | None
    status: InvocationStatus
    error: str | None
    result: Any
    created_at: Instant | None

    def as_dict(self) -> dict[str, Any]:
        return msgspec.structs.asdict(self)


# In our words, and in those of event jobs: what was canceled has failed, with the reason as its error.
STATUSES = {
    Status.SCHEDULED: ExecutionStatus.PENDING,
    Status.QUEUED: ExecutionStatus.PENDING,
    Status.RUNNING: ExecutionStatus.RUNNING,
    Status.SUCCEEDED: ExecutionStatus.COMPLETED,
    Status.FAILED: ExecutionStatus.FAILED,
    Status.CANCELED: ExecutionStatus.FAILED,
}
_ENDS = {AttemptStatus.RUNNING: InvocationStatus.RUNNING, AttemptStatus.SUCCEEDED: InvocationStatus.SUCCESS}
_WORDS = {
    AttemptStatus.LOST: "its worker is gone",
    AttemptStatus.RELEASED: "handed back by a worker that stopped; no attempt was spent",
    AttemptStatus.SNOOZED: "the handler asked to be called later; no attempt was spent",
    AttemptStatus.CANCELED: "canceled",
}


def execution_of(run: Run) -> Execution:
    """A run in the words of event jobs."""
    waits = run.status in PENDING and run.attempt > 0
    running = run.status is Status.RUNNING
    error = run.error
    if run.status is Status.CANCELED:
        error = run.reason or run.error
    elif running:
        error = None  # the run keeps that of the attempt before
    return Execution(
        id=run.id,
        job_id=run.options.trigger,
        event_id=run.event,
        status=STATUSES[run.status],
        attempt_number=run.attempt,
        started_at=run.started_at,
        completed_at=run.finished_at,
        error=error,
        result=run.result,
        next_retry_at=run.scheduled_for if waits else None,
        locked=run.started_at if running else None,
        created_at=run.created_at,
    )


def invocation_of(attempt: Attempt, reason: str | None = None) -> Invocation:
    """An attempt in the words of event jobs; `reason` is why its run was canceled, if that ended it."""
    error = attempt.error
    if attempt.status is AttemptStatus.CANCELED:
        error = reason or error
    return Invocation(
        id=invocation_id(attempt.run, attempt.number),
        execution_id=attempt.run,
        attempt_number=attempt.number,
        started_at=attempt.started_at,
        completed_at=attempt.finished_at,
        status=_ENDS.get(attempt.status, InvocationStatus.FAILED),
        error=error or _WORDS.get(attempt.status),
        result=attempt.result,
        created_at=attempt.started_at or attempt.finished_at,
    )


def invocation_id(execution_id: str, number: int) -> str:
    """A UUID (version 5) of the run and the attempt number: stable, and unique to the attempt."""
    return str(uuid5(UUID(execution_id), str(number)))
