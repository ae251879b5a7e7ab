"""`WorkbellTask`: a Django task with Workbell's options, and the decorator `task` that takes them on every version."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from workbell.django.compat import Task, task_backends
from workbell.handlers.job_function import ELSEWHERE

Backoff = float | timedelta | Sequence[float | timedelta] | Callable[[BaseException, Any], float | timedelta]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkbellTask(Task):  # type: ignore[misc]
    """A task of `WorkbellBackend`."""

    max_attempts: int | None = None
    """How often it is tried; otherwise OPTIONS["max_attempts"] of the backend, which is 1."""
    backoff: Backoff | None = None
    """Seconds before the next attempt: a number, a list with one for each failure, or `function(error, result)`."""
    timeout: float | timedelta | None = None
    """Seconds that an attempt may take."""
    key: str | None = None
    """Deduplication key, with names of arguments in braces: while a run with the same key waits or runs, an enqueue
    answers with that one."""
    concurrency: int | None = None
    """Most of its runs at once, over all machines."""
    rate: str | None = None
    """Most of its starts in a time, over all machines: `100/m`."""
    isolate: str | None = None
    """`process`: it is executed in a process of its own, which is killed at its timeout."""
    cron: str | None = None
    """When it runs by itself, without arguments: `0 3 * * *`."""
    timezone: str | None = None
    """Time zone of `cron`; otherwise TIME_ZONE of the settings."""

    def __post_init__(self) -> None:
        Task.__post_init__(self)
        declare = getattr(self.get_backend(), "declare", None)
        if declare is not None:  # else `using` names a backend of another kind
            declare(self)

    def using(self, **changes: Any) -> WorkbellTask:
        """The task with other options, Workbell's too: `send.using(priority=10, max_attempts=5).enqueue(…)`."""
        return replace(self, **{name: value for name, value in changes.items() if value is not None})

    if not TYPE_CHECKING:  # a checker would take any attribute for granted

        def __getattr__(self, word: str) -> Any:
            if word not in ELSEWHERE:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {word!r}", name=word, obj=self)
            name = self.func.__name__
            hint = f"use {name}.enqueue(…), or {name}.using(run_after=…).enqueue(…) for later"
            raise AttributeError(f"task {self.module_path} has no {word!r}; {hint}", name=word, obj=self)


OPTIONS = tuple(field.name for field in fields(WorkbellTask) if field.name not in {one.name for one in fields(Task)})


def options_of(task: Any) -> Mapping[str, Any]:
    """Workbell's options of a task that are set; a plain `Task` has none."""
    found = {name: getattr(task, name, None) for name in OPTIONS}
    return {name: value for name, value in found.items() if value is not None}


def task(
    function: Callable[..., Any] | None = None,
    *,
    priority: int = 0,
    queue_name: str = "default",
    backend: str = "default",
    takes_context: bool = False,
    **options: Any,
) -> Any:
    """Django's decorator `task` with Workbell's options, also on Django 6.0, whose own takes no others."""

    def declare(target: Callable[..., Any]) -> Any:
        return task_backends[backend].task_class(
            func=target,
            priority=priority,
            queue_name=queue_name,
            backend=backend,
            takes_context=takes_context,
            run_after=None,  # Django 6.0 has no default for it
            **options,
        )

    return declare if function is None else declare(function)
