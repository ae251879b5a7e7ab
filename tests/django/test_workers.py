"""Workers of a Django project: processes of `manage.py workbell`, their death, and the connections they leave."""

from __future__ import annotations

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


def test_a_worker_closes_the_connections_of_a_task(shared_site: str, calls: list[Any]) -> None:
    result = tasks.use_connection.enqueue()
    engine = task_backends["default"].bell
    engine.consume()
    result.refresh()
    assert result.status == TaskResultStatus.SUCCESSFUL
    (used,) = calls
    assert used.connection is None
