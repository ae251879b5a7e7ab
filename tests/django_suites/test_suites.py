"""Suites of others against `WorkbellBackend`: Django's `tests/tasks`, and the backend tests of `django-tasks-db`.

They are unpacked from the source distributions that `make test-django` has downloaded, and run by Django's own test
runner in a process of their own.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import django
import pytest

from tests.support.postgres import PostgresServer

SITE = Path(__file__).parent / "site"
SOURCES = Path(os.environ.get("WORKBELL_DJANGO_SOURCES", ""))


@pytest.fixture(params=["sqlite", "postgres"])
def suite_database(request: pytest.FixtureRequest) -> str:
    """Django makes a test database of its own beside this one."""
    if request.param == "sqlite":
        return "memory"
    server: PostgresServer = request.getfixturevalue("postgres_server")
    return server.create_database()


def unpack(name: str, version: str, part: str, folder: Path) -> Path:
    """A folder of a source distribution."""
    found = sorted(SOURCES.glob(f"{name}-{version}*.tar.gz"))
    assert found, f"there is no {name}-{version} in {SOURCES}; run `make test-django`"
    with tarfile.open(found[-1]) as archive:
        root = archive.getnames()[0].split("/")[0]
        members = [member for member in archive.getmembers() if member.name.startswith(f"{root}/{part}")]
        archive.extractall(folder, members, filter="data")
    return folder / root / part


def run(folder: Path, database: str, *labels: str, apps: str = "") -> dict[str, int]:
    """Run tests; how many ran, and how many were skipped. Any failure fails."""
    path = [str(folder), str(SITE), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(path),
        "SUITE_DATABASE": database,
        "SUITE_APPS": apps,
    }
    command = [sys.executable, "-m", "django", "test", *labels, "--settings=suite_settings", "--noinput"]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-8000:]
    ran = re.search(r"^Ran (\d+) tests", done.stderr, re.MULTILINE)
    skipped = re.search(r"skipped=(\d+)", done.stderr)
    assert ran is not None
    return {"ran": int(ran[1]), "skipped": 0 if skipped is None else int(skipped[1])}


def tasks_of_django(folder: Path) -> Path:
    version = ".".join(map(str, django.VERSION[:2]))
    return unpack("[dD]jango", f"{version}.", "tests/tasks", folder)


@pytest.mark.timeout(400)
def test_djangos_own_tests_of_tasks_pass_beside_our_app(tmp_path: Path, suite_database: str) -> None:
    tests = tasks_of_django(tmp_path)
    assert run(tests.parent, suite_database, "tasks")["ran"] >= 75


@pytest.mark.timeout(400)
def test_its_tests_of_backends_pass_with_ours_in_their_place(tmp_path: Path, suite_database: str) -> None:
    tests = tasks_of_django(tmp_path)
    found = run(tests.parent, suite_database, "retargeted")
    assert found["ran"] >= 35
    assert found["skipped"] == 5


@pytest.mark.timeout(400)
def test_the_backend_tests_of_django_tasks_db_pass_with_ours(tmp_path: Path, suite_database: str) -> None:
    tests = unpack("django_tasks_db", "", "tests", tmp_path)
    (tests / "__init__.py").touch()
    tasks = (tasks_of_django(tmp_path) / "tasks.py").read_text()
    # Its own tasks are not in its source distribution: these have the same names, and one message in other words.
    (tests / "tasks.py").write_text(tasks.replace("This Task failed", "This task failed"))
    found = run(tests.parent, suite_database, "retargeted_db", apps="django.contrib.admin django_tasks_db")
    assert found["ran"] - found["skipped"] >= 24
