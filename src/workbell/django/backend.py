"""`WorkbellBackend`: runs tasks of `django.tasks` as jobs, in the database of the application.

`enqueue` inside `transaction.atomic()` commits with it or vanishes with it; in autocommit it is durable when it
returns.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from django.db import connections, transaction

from workbell.app import Workbell
from workbell.django.arguments import arguments_of
from workbell.django.bells import ATTEMPTS, BackendBells, bells_of, declare
from workbell.django.compat import BaseTaskBackend, TaskResultDoesNotExist, normalize_json, task_enqueued
from workbell.django.policies import check_options, enqueue_options
from workbell.django.results import envelope, result_of, stored
from workbell.django.task import WorkbellTask
from workbell.errors import RunNotFound
from workbell.model.ids import is_id
from workbell.stores.port import newest_attempts


class WorkbellBackend(BaseTaskBackend):  # type: ignore[misc]
    """Task backend. OPTIONS: `database` (an alias of DATABASES) or `url` (a store of its own), `max_attempts`."""

    task_class = WorkbellTask
    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    @property
    def bells(self) -> BackendBells:
        return bells_of(self.alias, self.options)

    @property
    def bell(self) -> Workbell:
        """The Workbell that workers run: for schedules, events and everything else that tasks have no words for."""
        return self.bells.engine

    def validate_task(self, task: Any) -> None:
        super().validate_task(task)
        check_options(task, self.options.get("max_attempts", ATTEMPTS))

    def declare(self, task: Any) -> Any:
        """Make a task known to workers of this process."""
        return declare(task)

    def enqueue(self, task: Any, args: Any, kwargs: Any) -> Any:
        self.validate_task(task)
        bells = self.bells
        declared = self.declare(task)
        arguments = arguments_of(declared.module_path, declared.func, declared.takes_context)
        arguments.check(args, kwargs)
        args, kwargs = normalize_json(list(args)), normalize_json(dict(kwargs))
        options = enqueue_options(task, declared, bells.key.attempts, arguments.bind(args, kwargs))
        options |= {"queue": task.queue_name, "priority": task.priority}
        if task.run_after is not None:
            options["run_at"] = stored(task.run_after)
        client = bells.client
        job = client.registry.find(bells.job_name(declared))
        assert job is not None, "it is declared above"
        with _transaction(bells, options):
            request = job.options(**options).request(**envelope(args, kwargs))
            (run,) = client.enqueue_many([request])
        if run.id != request.new.run.id:  # the key stands for one that was enqueued before
            return self.get_result(run.id)
        result = result_of(run, [], declared, self.alias)
        task_enqueued.send(type(self), task_result=result)
        return result

    def get_result(self, result_id: str) -> Any:
        bells = self.bells
        if not is_id(str(result_id).lower()):  # no task has one; and Django may ask from async code, which cannot read
            raise TaskResultDoesNotExist(result_id)
        try:
            run = bells.client.get(str(result_id))
        except RunNotFound:
            raise TaskResultDoesNotExist(result_id) from None
        task = bells.find_task(run.job)
        if task is None:
            raise TaskResultDoesNotExist(
                f"{result_id}: it is a run of {run.job!r}, and this process has no task of that name; import its "
                "module in the tasks.py of an installed app."
            )
        earlier = newest_attempts(bells.client.store, run) if run.attempt > 1 or run.failures else []
        return result_of(run, earlier, task, self.alias)

    def check(self, **kwargs: Any) -> Iterable[Any]:
        from workbell.django.checks import check_backend

        yield from super().check(**kwargs)
        yield from check_backend(self)


def _transaction(bells: BackendBells, options: dict[str, Any]) -> AbstractContextManager[None]:
    """The transaction that a run is made in: Django's own, or a new one in autocommit."""
    if not bells.is_on_django:
        return nullcontext()
    connection = options["connection"] = connections[bells.key.database]
    if connection.in_atomic_block or not connection.get_autocommit():
        return nullcontext()
    begun: AbstractContextManager[None] = transaction.atomic(using=connection.alias)
    return begun
