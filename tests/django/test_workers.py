"""Workers of a Django project: processes of `manage.py workbell`, their death, and the connections they leave."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.django import tasks
from tests.docs.pages import ROOT, plain_environment
from tests.support.waiting import until
from workbell import Workbell
from workbell.django.compat import TaskResultStatus, task_backends
from workbell.model.run import Status

SHOP = ROOT / "examples" / "django_shop"
SETTINGS = """
from shop.settings import *

INSTALLED_APPS = [*INSTALLED_APPS, "slow"]
"""
ENQUEUE = """
from django.core.management import call_command

call_command("migrate", verbosity=0)
from slow.tasks import hold

print(hold.enqueue().id)
"""
SLOW = """
import os
import threading
from pathlib import Path

from django.contrib.contenttypes.models import ContentType

from workbell.django import task


@task(isolate="process", rate="100/s")
def alone(name):
    return [os.getpid(), ContentType.objects.count() > 0, name]


@task
def unlucky():
    raise ValueError("unlucky")


@task(takes_context=True)
def hold(context):
    ContentType.objects.count()
    Path(f"attempt-{context.attempt}.tmp").write_text(str(os.getpid()))
    Path(f"attempt-{context.attempt}.tmp").rename(f"attempt-{context.attempt}")
    if context.attempt == 1:
        threading.Event().wait()
    return context.attempt
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """The example, with a task that holds its worker."""
    folder = tmp_path / "shop"
    shutil.copytree(SHOP, folder, ignore=shutil.ignore_patterns("*.db*", "__pycache__"))
    (folder / "held_settings.py").write_text(SETTINGS)
    (folder / "slow").mkdir()
    (folder / "slow" / "__init__.py").touch()
    (folder / "slow" / "tasks.py").write_text(SLOW)
    return folder


def environment() -> dict[str, str]:
    path = os.pathsep.join(part for part in (str(ROOT / "src"), os.environ.get("PYTHONPATH", "")) if part)
    return plain_environment() | {
        "PYTHONPATH": path,
        "DJANGO_SETTINGS_MODULE": "held_settings",
        "WORKBELL_SWEEP": "0.2",
    }


def manage(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "manage.py", *arguments]
    done = subprocess.run(
        command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@contextmanager
def workers(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    with (folder / "log").open("wb") as log:
        command = [sys.executable, "manage.py", "workbell", "start", "--processes", "1", "--no-http"]
        process = subprocess.Popen(command, cwd=folder, env=environment(), stdout=log, stderr=log)
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


@pytest.mark.timeout(300)
def test_a_task_comes_back_when_its_worker_is_killed(shop: Path) -> None:
    run_id = manage(shop, "shell", "-v0", "-c", ENQUEUE).strip().splitlines()[-1]
    with workers(shop), Workbell(f"sqlite:///{shop}/shop.db") as bell:
        first = shop / "attempt-1"
        until(first.exists, deadline=100)
        os.kill(int(first.read_text()), signal.SIGKILL)
        run = until(lambda: run if (run := bell.get(run_id)).status.final else None, deadline=100)
        assert run is not None
        assert (run.status, run.result) == (Status.SUCCEEDED, 2)
        assert [attempt.status for attempt in bell.attempts(run_id)] == ["lost", "succeeded"]


ENQUEUE_SOME = """
from django.core.management import call_command

call_command("migrate", verbosity=0)
from slow.tasks import alone, unlucky

print(alone.enqueue("ada").id, unlucky.enqueue().id)
"""


@pytest.mark.timeout(300)
@pytest.mark.parametrize("debug", [True, False])
def test_a_task_has_one_line_of_one_format_and_may_have_a_process(shop: Path, debug: bool) -> None:
    with (shop / "held_settings.py").open("a") as settings:
        settings.write(f"DEBUG = {debug}\n")
    ids = manage(shop, "shell", "-v0", "-c", ENQUEUE_SOME).strip().splitlines()[-1].split()
    with workers(shop) as supervisor, Workbell(f"sqlite:///{shop}/shop.db") as bell:
        until(lambda: all(bell.get(run_id).status.final for run_id in ids), deadline=100)
        alone, unlucky = map(bell.get, ids)
    assert (alone.result[1:], unlucky.status) == ([True, "ada"], Status.FAILED)
    assert alone.result[0] not in (supervisor.pid, os.getpid())
    assert alone.worker is not None
    assert alone.result[0] != int(alone.worker.split("/")[1]), "it has a process of its own"
    lines = [json.loads(line) for line in (shop / "log").read_text().splitlines()]  # every line is JSON
    told = [line for line in lines if any(run_id in json.dumps(line) for run_id in ids)]
    assert [(line["event"], line["run_id"]) for line in told] in (
        [("run succeeded", ids[0]), ("run failed", ids[1])],
        [("run failed", ids[1]), ("run succeeded", ids[0])],
    )


def test_a_worker_closes_the_connections_of_a_task(shared_site: str, calls: list[Any]) -> None:
    result = tasks.use_connection.enqueue()
    engine = task_backends["default"].bell
    engine.consume()
    result.refresh()
    assert result.status == TaskResultStatus.SUCCESSFUL
    (used,) = calls
    assert used.connection is None
