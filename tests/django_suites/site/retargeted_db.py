"""The tests of `django-tasks-db` of its backend and its worker, with `WorkbellBackend` and `drain` in their place.

Its model becomes a view of our runs; how many statements it needs is its own matter, and not counted.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any
from unittest import skip
from uuid import UUID, uuid4

import backends
import django_tasks_db
from django.tasks import TaskResultStatus, default_task_backend, task_backends
from django.test import TransactionTestCase, override_settings
from left_out import LEFT_OUT

from tests import tests as theirs
from workbell.django import WorkbellBackend
from workbell.django.testing import adrain, drain

OURS = {"BACKEND": "workbell.django.WorkbellBackend", "QUEUES": ["default", "queue-1"]}
DUMMY = {"BACKEND": "django.tasks.backends.dummy.DummyBackend"}


class Rows:
    """Results by their status, in the place of a queryset."""

    def __init__(self, *statuses: Any) -> None:
        self._statuses = statuses

    def count(self) -> int:
        backend = default_task_backend
        results = [backend.get_result(run.id) for run in backend.bells.client.runs()]
        return sum(not self._statuses or result.status in self._statuses for result in results)

    def update(self, **_: Any) -> None:
        """What they write into the row, a worker does here."""
        drain()

    async def aupdate(self, **_: Any) -> None:
        await adrain()


class Objects(Rows):
    def all(self) -> Rows:
        return Rows()

    def values(self, *_: str) -> SimpleNamespace:
        return SimpleNamespace(query="SELECT id FROM workbell_runs")

    def ready(self) -> Rows:
        return Rows(TaskResultStatus.READY)

    def successful(self) -> Rows:
        return Rows(TaskResultStatus.SUCCESSFUL)

    def failed(self) -> Rows:
        return Rows(TaskResultStatus.FAILED)


class DBTaskResult:
    objects = Objects()


def without_left_out(tests: type) -> type:
    """Skip the tests that stand in the table."""
    for name in dir(tests):
        reason = LEFT_OUT.get(f"{tests.__mro__[2].__name__}.{name}")
        if reason is not None:
            setattr(tests, name, skip(reason)(lambda self: None))
    return tests


class Retargeted:
    def setUp(self) -> None:
        backends.forget_runs(task_backends["default"])
        super().setUp()  # type: ignore[misc]

    def assertNumQueries(self, *_: Any, **__: Any) -> Any:
        return nullcontext()


def version_of(text: str) -> SimpleNamespace:
    """An id of version 7, as it is here, in the place of one of version 4."""
    return SimpleNamespace(version={7: 4}.get(UUID(text).version))


django_tasks_db.DatabaseBackend = WorkbellBackend  # which their settings name
theirs.DatabaseBackend = WorkbellBackend
theirs.DBTaskResult = DBTaskResult
theirs.uuid = SimpleNamespace(UUID=version_of, uuid4=uuid4)


@without_left_out
@override_settings(TASKS={"default": OURS})
class BackendTests(Retargeted, theirs.DatabaseBackendTestCase):
    pass


@without_left_out
@override_settings(TASKS={"default": OURS, "dummy": DUMMY})
class WorkerTests(Retargeted, theirs.DatabaseBackendWorkerTestCase):
    run_worker: Callable[..., None] = staticmethod(lambda **_: drain() and None)


del TransactionTestCase
