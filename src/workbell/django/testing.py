"""Tests of Django projects: `drain` executes tasks on the test's own connection, inside its transaction."""

from __future__ import annotations

from typing import Any

from asgiref.sync import sync_to_async

from workbell.django.compat import task_backends
from workbell.errors import WorkbellError
from workbell.process.event_loop import is_in_a_loop
from workbell.testing.drain import drain as drain_bell


def drain(backend: str = "default", *, until_idle: bool = True, raise_errors: bool = False) -> list[Any]:
    """Execute every task that is due now, in this thread; the results of those that ended, in that order.

    With `until_idle`, tasks that tasks enqueue are executed too. `raise_errors` raises the first error of a task.
    """
    if is_in_a_loop():
        raise WorkbellError("drain: async code has no connection of Django's in its thread; call `await adrain()`.")
    found = task_backends[backend]
    bells = found.bells
    runs = drain_bell(bells.client, until_idle=until_idle, raise_errors=raise_errors)
    tasks = [(run, bells.find_task(run.job)) for run in runs]
    return [found.get_result(run.id) for run, task in tasks if task is not None]


adrain = sync_to_async(drain, thread_sensitive=True)
