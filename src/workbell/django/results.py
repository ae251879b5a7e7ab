"""Runs as task results: status, times, errors and workers in the words of `django.tasks`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.conf import settings
from django.utils import timezone

from workbell.django.compat import InvalidTask, TaskError, TaskResult, TaskResultStatus
from workbell.django.errors import TaskCanceled, TaskGivenUp
from workbell.django.tracebacks import as_traceback
from workbell.model.error_text import error_type
from workbell.model.run import Attempt, AttemptStatus, Run, Status, last_attempt

STATUSES = {
    Status.SCHEDULED: TaskResultStatus.READY,
    Status.QUEUED: TaskResultStatus.READY,
    Status.RUNNING: TaskResultStatus.RUNNING,
    Status.SUCCEEDED: TaskResultStatus.SUCCESSFUL,
    Status.FAILED: TaskResultStatus.FAILED,
    Status.CANCELED: TaskResultStatus.FAILED,
}


def envelope(args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Arguments of a task as the input of a run."""
    return {"args": list(args), "kwargs": dict(kwargs)}


def result_of(run: Run, earlier: Sequence[Attempt], task: Any, backend: str) -> Any:
    """The task result of a run; `earlier` are its attempts but the last."""
    last = last_attempt(run)
    attempts = [*earlier, last] if last is not None else list(earlier)
    started = [attempt.started_at for attempt in attempts if attempt.started_at is not None]
    given = run.input
    result = TaskResult(
        task=_as_enqueued(task, run, backend, bool(earlier)),
        id=run.id,
        status=STATUSES[run.status],
        enqueued_at=local(run.created_at),
        started_at=local(started[0]) if started else None,
        last_attempted_at=local(started[-1]) if started else None,
        finished_at=None if run.finished_at is None else local(run.finished_at),
        args=given.get("args") or [],
        kwargs=given.get("kwargs") or {},
        backend=backend,
        errors=_errors(run, attempts),
        worker_ids=[attempt.worker or "" for attempt in attempts],
    )
    if run.status is Status.SUCCEEDED:
        object.__setattr__(result, "_return_value", run.result)
    return result


def _as_enqueued(task: Any, run: Run, backend: str, was_tried: bool) -> Any:
    """The task with the options of this enqueue. A retry moves the time of a run: then `run_after` is not known."""
    after = None if was_tried or run.scheduled_for <= run.created_at else local(run.scheduled_for)
    try:
        return task.using(priority=run.priority, queue_name=run.queue, run_after=after, backend=backend)
    except InvalidTask:  # QUEUES have changed since
        return task


def _errors(run: Run, attempts: Sequence[Attempt]) -> list[Any]:
    failed = [attempt for attempt in attempts if attempt.status is AttemptStatus.FAILED]
    found = [error_of(attempt.error or "") for attempt in failed]
    if run.status is Status.CANCELED:
        found.append(_named(TaskCanceled, run.reason or ""))
    elif run.status is Status.FAILED and not failed:
        found.append(error_of(run.error or run.reason or ""))
    return found


def error_of(text: str) -> Any:
    """A stored error text as a task error."""
    path = error_type(text)
    if path is None:
        return _named(TaskGivenUp, text)
    return TaskError(exception_class_path=path, traceback=as_traceback(text))


def _named(kind: type[Exception], words: str) -> Any:
    path = f"{kind.__module__}.{kind.__qualname__}"
    return TaskError(exception_class_path=path, traceback=f"{path}: {words}\n")


def local(moment: datetime) -> datetime:
    """A time as Django's settings want it: naive and local where USE_TZ is off."""
    return moment if settings.USE_TZ else timezone.make_naive(moment)


def stored(moment: datetime) -> datetime:
    """A time of Django as we store it: with a zone."""
    return moment if timezone.is_aware(moment) else timezone.make_aware(moment)
