"""Executions and invocations: runs that events made, and their attempts, in the words of event jobs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from workbell.http.schemas.base import RUN_ID, Shown
from workbell.model.execution import ExecutionStatus, InvocationStatus


class ExecutionShown(Shown):
    """Execution of an event by one trigger."""

    id: str = Field(description="That of the run behind it.", examples=[RUN_ID])
    job_id: str | None = Field(description="The id of the trigger.")
    event_id: str | None
    status: ExecutionStatus
    attempt_number: int = Field(description="Of the last attempt that began; 0 before the first.")
    started_at: datetime | None
    completed_at: datetime | None
    error: str | None
    result: Any
    next_retry_at: datetime | None
    locked: datetime | None = Field(description="Since when a worker holds it.")
    created_at: datetime


class InvocationShown(Shown):
    """One attempt of an execution."""

    id: str
    execution_id: str
    attempt_number: int
    started_at: datetime | None
    completed_at: datetime | None
    status: InvocationStatus
    error: str | None
    result: Any
    created_at: datetime | None


class Invocations(Shown):
    items: list[InvocationShown]
