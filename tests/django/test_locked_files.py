"""A SQLite file that is locked while a task writes to it: the statement waits, within the task's time."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import OperationalError, connection

from tests.django import tasks
from tests.support.django_site import database, databases
from workbell.django import bells
from workbell.django import connections as module
from workbell.django.compat import TaskResultStatus
from workbell.django.executing import TaskAttempt
from workbell.django.testing import drain

LOCKED = 1.0  # seconds: ten times as long as Django waits here

Lock = Callable[[float], None]
Failures = list[tuple[BaseException, float]]


@pytest.fixture
def mode(request: pytest.FixtureRequest) -> str:
    mode: str = getattr(request, "param", "IMMEDIATE")
    return mode


@pytest.fixture
def lock_for(tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lock]:
    """Have another connection lock the file as soon as a task begins, for so many seconds."""
    file = tmp_path / "shop.db"
    foreign = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    timers: list[threading.Timer] = []

    def lock_for(seconds: float) -> None:
        def lock() -> None:
            tasks.calls.append("before")
            foreign.execute("BEGIN IMMEDIATE")
            timers.append(threading.Timer(seconds, foreign.rollback))
            timers[-1].start()

        monkeypatch.setattr(tasks, "before", lock)

    with databases(default=database(f"sqlite:///{file}", transaction_mode=mode, timeout=0.1)):
        call_command("migrate", "workbell", verbosity=0)
        connection.cursor().execute("CREATE TABLE things (name TEXT PRIMARY KEY)")
        try:
            yield lock_for
        finally:
            for timer in timers:
                timer.join()
            foreign.close()
            bells.close_all()


def things() -> list[str]:
    return [row[0] for row in connection.cursor().execute("SELECT name FROM things").fetchall()]


@pytest.fixture
def failures(monkeypatch: pytest.MonkeyPatch) -> Failures:
    """Errors of tasks, each with the moment."""
    found: Failures = []
    failed = TaskAttempt._failed

    def note(self: TaskAttempt, error: BaseException) -> BaseException:
        found.append((error, time.monotonic()))
        return failed(self, error)

    monkeypatch.setattr(TaskAttempt, "_failed", note)
    return found


@pytest.mark.parametrize(
    ("task", "mode"),
    [
        ("add_thing", "IMMEDIATE"),
        ("add_thing", "DEFERRED"),
        ("add_thing_async", "IMMEDIATE"),
        ("add_thing_atomic", "IMMEDIATE"),
        ("add_thing_atomic", "DEFERRED"),
        ("add_thing_in_a_savepoint", "DEFERRED"),
    ],
    indirect=["mode"],
)
def test_the_statement_waits_and_the_task_is_called_once(
    lock_for: Lock, task: str, caplog: pytest.LogCaptureFixture
) -> None:
    lock_for(LOCKED)
    getattr(tasks, task).enqueue("a")
    (result,) = drain()
    assert (result.status, result.attempts, things()) == (TaskResultStatus.SUCCESSFUL, 1, ["a"])
    assert tasks.calls == ["before"]
    assert caplog.text.count("a task waits for the lock of") == 1


@pytest.mark.parametrize(("task", "least"), [("add_thing", 0.3), ("add_thing_soon", 1.0)])
def test_not_beyond_the_time_of_the_task(
    lock_for: Lock, failures: Failures, task: str, least: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOCK_WAIT", 0.3)  # of the one that has no time of its own
    lock_for(4 * LOCKED)
    getattr(tasks, task).enqueue("a")
    began = time.monotonic()
    with suppress(OperationalError):  # the outcome cannot be written either
        drain()
    ((error, failed_at),) = failures
    assert (type(error), str(error)) == (OperationalError, "database is locked")
    assert least <= failed_at - began < 4 * LOCKED


@pytest.mark.parametrize("mode", ["DEFERRED"], indirect=True)
@pytest.mark.parametrize("task", ["add_thing_after_reading", "add_thing_among_many"])
def test_what_cannot_be_repeated_safely_is_not(lock_for: Lock, failures: Failures, task: str) -> None:
    lock_for(4 * LOCKED)
    getattr(tasks, task).enqueue("a")
    began = time.monotonic()
    with suppress(OperationalError):
        drain()
    ((error, failed_at),) = failures
    assert (type(error), str(error)) == (OperationalError, "database is locked")
    assert failed_at - began < 4 * LOCKED
