"""Workbells of task backends: several of them beside each other in one database."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import override_settings

from tests.django import tasks
from tests.support.django_site import BACKEND
from workbell.django import bells, task
from workbell.django.compat import task_backends

TWO = {alias: {"BACKEND": BACKEND, "QUEUES": []} for alias in ("default", "reports")}


def weekly() -> None:
    """A task of the backend `reports`."""


@pytest.fixture
def two_backends(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(bells, "_tasks", dict(bells._tasks, reports={}))
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
    bells._tasks["reports"].clear()
    bells.close_all()
    reports = task_backends["reports"].bells.client
    reports.engine.start()
    (schedule,) = reports.schedules.list()
    assert not schedule.enabled
