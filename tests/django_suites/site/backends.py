"""Thin subclasses of `WorkbellBackend` that stand in for the backends of others in their own tests."""

from __future__ import annotations

import os
from typing import Any
from unittest import mock

from django.db import connections

from workbell.django import WorkbellBackend
from workbell.django.testing import drain
from workbell.process.event_loop import is_in_a_loop


class DrainedBackend(WorkbellBackend):
    """Executes at the enqueue, as Django's immediate backend does."""

    def enqueue(self, task: Any, args: Any, kwargs: Any) -> Any:
        result = super().enqueue(task, args, kwargs)
        drain(self.alias)
        result.refresh()
        return result


class ListedBackend(WorkbellBackend):
    """Lists its results and forgets them, as Django's dummy backend does."""

    @property
    def results(self) -> list[Any]:
        with mock.patch.dict(os.environ, DJANGO_ALLOW_ASYNC_UNSAFE="yes"):  # async tests read the list too
            found = [self.get_result(run.id) for run in reversed(self.bells.client.runs())]
            if is_in_a_loop():  # a connection of its own, which nobody else closes
                connections[self.bells.key.database].close()
            return found

    def clear(self) -> None:
        forget_runs(self)


def forget_runs(backend: WorkbellBackend) -> None:
    """End every run, and remove it: there is no verb that takes a run without a trace."""
    connection = connections[backend.bells.key.database]
    with connection.cursor() as cursor:
        for table in ("workbell_runs", "workbell_history", "workbell_attempts", "workbell_keys"):
            cursor.execute(f"DELETE FROM {table}")
