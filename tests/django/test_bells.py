"""Workbells of task backends: several of them beside each other in one database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from django.test import override_settings

from tests.django import tasks
from tests.support.django_site import BACKEND
from workbell.boot.load_app import load_app
from workbell.django import bells, task
from workbell.django.apps import _declare_plain
from workbell.django.compat import BaseTaskBackend, Task, TaskResultStatus, task_backends
from workbell.django.testing import drain
from workbell.errors import SettingsError

TWO: dict[str, Any] = {alias: {"BACKEND": BACKEND, "QUEUES": []} for alias in ("default", "reports")}
TWO["reports"]["OPTIONS"] = {"max_attempts": 2}
PLAIN = {"BACKEND": BaseTaskBackend.__module__.replace(".base", ".dummy.DummyBackend")}


def weekly() -> None:
    """A task of the backend `reports`."""


@pytest.fixture
def two_backends(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(bells, "_tasks", dict(bells._tasks))
    with override_settings(TASKS=TWO):
        yield


@pytest.mark.usefixtures("memory_site", "two_backends")
def test_backends_in_one_database_leave_each_other_their_schedules() -> None:
    task(cron="0 4 * * 1", backend="reports")(weekly)
    clients = [task_backends[alias].bells.client for alias in TWO]
    for client in (*clients, *clients):  # workers of both start, twice
        client.engine.start()
    known = {one.name: (one.enabled, one.source) for one in clients[0].schedules.list()}
    assert known == {
        tasks.nightly.module_path: (True, "code:django:tests.django.urls:default"),
        f"{__name__}.weekly": (True, "code:django:tests.django.urls:reports"),
    }


@pytest.mark.usefixtures("memory_site", "two_backends")
def test_a_backend_switches_off_what_its_own_code_no_longer_declares() -> None:
    task(cron="0 4 * * 1", backend="reports")(weekly)
    task_backends["reports"].bells.client.engine.start()
    del bells._tasks[f"{__name__}.weekly"]
    bells.close_all()
    reports = task_backends["reports"].bells.client
    reports.engine.start()
    (schedule,) = reports.schedules.list()
    assert not schedule.enabled


@pytest.mark.usefixtures("site", "two_backends")
def test_using_another_backend_leaves_the_run_to_its_workers(calls: list[Any]) -> None:
    """Also where both are in one database; the workers are other processes than the one that enqueued."""
    result = tasks.note.using(backend="reports").enqueue("week")
    bells.close_all()
    assert drain("default") == []
    assert [found.id for found in drain("reports")] == [result.id]
    assert calls == [[["week"], {}]]
    result.refresh()
    assert (result.status, result.task.backend) == (TaskResultStatus.SUCCESSFUL, "reports")
    assert tasks.note.enqueue("day").task.backend == "default"
    assert drain("reports") == []


@pytest.mark.usefixtures("memory_site", "two_backends")
def test_attempts_are_those_of_the_backend_that_a_task_is_used_with() -> None:
    once, twice = tasks.unlucky.enqueue(), tasks.unlucky.using(backend="reports").enqueue()
    for backend, result, status in (
        ("default", once, TaskResultStatus.FAILED),
        ("reports", twice, TaskResultStatus.READY),
    ):
        drain(backend, until_idle=False)
        result.refresh()
        assert (result.status, len(result.errors)) == (status, 1)


@pytest.mark.usefixtures("memory_site", "two_backends")
def test_tasks_of_backends_that_are_not_ours_can_be_used_with_ours() -> None:
    """Their `Task` does not declare itself: a worker finds it in the module of tasks of an app."""
    with override_settings(TASKS=TWO | {"plain": PLAIN}):
        module = ModuleType("tasks")
        module.weekly = Task(func=weekly, backend="plain", queue_name="default", priority=0, run_after=None)  # type: ignore[attr-defined]
        before = dict(bells._tasks)
        _declare_plain(module)
        result = module.weekly.using(backend="reports").enqueue()
        bells.close_all()
        bells._tasks.clear()  # a worker is another process, which has seen no enqueue
        bells._tasks.update(before)
        _declare_plain(module)
        assert [found.id for found in drain("reports")] == [result.id]


@pytest.mark.parametrize(
    ("alias", "said"),
    [
        ("plain", r"TASKS\['plain'\] is a DummyBackend and no WorkbellBackend"),
        ("jobs", r"TASKS has no backend 'jobs'"),
    ],
)
@pytest.mark.usefixtures("shared_site")
def test_the_app_of_a_backend_is_named_by_its_alias(alias: str, said: str, tmp_path: Path) -> None:
    with override_settings(TASKS=TWO | {"plain": PLAIN}):
        assert load_app("workbell.django.app:reports", tmp_path) is task_backends["reports"].bell
        with pytest.raises(SettingsError, match=rf"app = 'workbell\.django\.app:{alias}': {said}\.$"):
            load_app(f"workbell.django.app:{alias}", tmp_path)


@pytest.mark.usefixtures("memory_site")
def test_what_a_request_ends_is_kept_as_long_as_the_settings_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBELL_KEEP_OTHER", "60")
    bells.close_all()
    client = task_backends["default"].bells.client
    old, _ = (
        client.enqueue(tasks.note.module_path, {"args": [], "kwargs": {}}, tag="t", replace_tag=replace)
        for replace in (False, True)
    )
    ended = client.get(old.id)
    assert (ended.remove_at - ended.finished_at).total_seconds() == 60
