"""Execution of a task as the handler of a job: its context, the signals of Django, and the wait before a retry."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from asgiref.sync import async_to_sync
from django.utils import timezone

from workbell.django.compat import (
    TaskContext,
    TaskResultStatus,
    normalize_json,
    task_backends,
    task_finished,
    task_started,
)
from workbell.django.connections import in_savepoints, waiting_for_locks
from workbell.django.policies import declared_options, has_waits_of, retry_of, wait_after
from workbell.django.results import error_of, result_of
from workbell.handlers.context import Context, earlier_attempts
from workbell.model.cancel_snooze import Cancel, RetryAfter, Snooze
from workbell.model.error_text import describe_error
from workbell.model.outcome import Raised, read_return
from workbell.model.retry import kinds_of


def make_handler(alias: str, task: Any, attempts: int) -> Callable[..., Any]:
    """The handler of a task, whose input is an envelope of its arguments."""

    def handle(ctx: Context, args: list[Any] | None = None, kwargs: dict[str, Any] | None = None) -> Any:
        return TaskAttempt(alias, task, attempts, ctx).execute(args or [], kwargs or {})

    handle.__module__, handle.__qualname__ = task.func.__module__, task.func.__qualname__
    handle.__name__, handle.__doc__ = task.func.__name__, task.func.__doc__
    handle.task_function = task.func  # type: ignore[attr-defined]
    return handle


class TaskAttempt:
    """One attempt of a task."""

    def __init__(self, alias: str, task: Any, attempts: int, ctx: Context) -> None:
        self._task = task
        self._ctx = ctx
        self._run = run = ctx.run
        declared = retry_of(task, attempts)
        self._retry = run.options.retry or declared
        self._waits_as_declared = has_waits_of(self._retry, declared)
        self._timeout = run.options.timeout or declared_options(task, attempts).get("timeout")
        self._sender = type(task_backends[alias])
        self._result = result_of(run, earlier_attempts(ctx) if run.attempt > 1 else [], task, alias)

    def execute(self, args: list[Any], kwargs: dict[str, Any]) -> Any:
        task_started.send_robust(sender=self._sender, task_result=self._result)
        context = (TaskContext(task_result=self._result),) if self._task.takes_context else ()
        try:
            with in_savepoints(), waiting_for_locks(self._timeout, lambda: self._ctx.canceled):
                value = self._call(*context, *args, **kwargs)
            if not isinstance(value, Cancel | Snooze):
                value = normalize_json(value)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001  also sys.exit() in a task is a failure of it
            raise self._failed(error)  # noqa: B904  it is the error itself, or marks it
        outcome = read_return(value)
        if isinstance(outcome, Raised):  # it cannot be stored: Workbell fails the run, and does not repeat it
            self._result.errors.append(error_of(describe_error(outcome.error)))
            self._finish(TaskResultStatus.FAILED)
        elif isinstance(value, Cancel):
            self._finish(TaskResultStatus.FAILED)
        elif not isinstance(value, Snooze):
            object.__setattr__(self._result, "_return_value", value)
            self._finish(TaskResultStatus.SUCCESSFUL)
        return value

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        function = self._task.func
        if not asyncio.iscoroutinefunction(function):
            return function(*args, **kwargs)
        limit = self._timeout

        async def call() -> Any:
            async with asyncio.timeout(limit):
                return await function(*args, **kwargs)

        # On a loop of its own: what it asks of Django's database runs in this thread, on this thread's connection.
        return async_to_sync(call)()

    def _failed(self, error: BaseException) -> BaseException:
        """The error to raise; within the `except` block, so that receivers of signals find it in `sys.exc_info()`."""
        self._result.errors.append(error_of(describe_error(error)))
        failures = self._run.failures + 1
        if self._retry.allows(failures, kinds_of(type(error))):
            wait = wait_after(self._task, error, self._result, failures) if self._waits_as_declared else 0
            return RetryAfter(error, wait) if wait else error
        self._finish(TaskResultStatus.FAILED)
        return error

    def _finish(self, status: Any) -> None:
        """Send `task_finished`, unless the attempt was asked to stop: then what follows is not decided here."""
        if self._ctx.canceled:
            return
        object.__setattr__(self._result, "finished_at", timezone.now())
        object.__setattr__(self._result, "status", status)
        task_finished.send_robust(sender=self._sender, task_result=self._result)
