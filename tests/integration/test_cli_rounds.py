"""`workbell dispatch` and `workbell consume`: one round from cron."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tests.integration.conftest import Folder
from tests.support.command_line import call
from tests.support.environment import without_settings
from tests.support.inside.stores import SqliteFiles
from tests.support.processes import kill
from tests.support.waiting import until
from workbell import Workbell


@pytest.fixture
def project(folder: Folder, sqlite_files: SqliteFiles) -> Folder:
    sqlite_files.make(folder.path / "workbell.db")
    folder.write("workbell.toml", "")
    folder.write("jobs/send.py", 'schedule = "* * * * * *"\ncatch_up = "all"\ndef run(to="all"): ...\n')
    return folder


def test_dispatch_and_consume(project: Folder) -> None:
    first = project.ask("dispatch")
    assert first == dict.fromkeys(["fired", "fanned_out", "queued", "recovered", "removed", "sent"], 0) | {
        "fired": first["fired"]
    }
    until(lambda: project.ask("dispatch", "--limit", "5")["fired"] == 1, "a tick")
    (one, *_) = project.ask("consume", "--for", "20s")["results"]
    assert (one["answer"], one["status"]) == ("done", "succeeded")


def test_for_people(project: Folder) -> None:
    project.call("schedules", "pause", "send")
    project.call("dispatch")
    project.call("schedules", "pause", "send")
    assert project.call("dispatch").out == "Nothing was due.\n"
    project.call("consume")
    assert project.call("consume").out == "No run was waiting that may start here.\n"
    run = project.ask("jobs", "run", "send", "--delay", "1h")
    told = project.call("consume", run["id"]).out
    assert run["id"] in told
    assert "not due yet" in told


def test_a_store_without_a_project(folder: Folder, sqlite_files: SqliteFiles) -> None:
    """A store that is named needs no code here: what is due there can be dispatched from anywhere."""
    sqlite_files.make(folder.path / "workbell.db")
    url = f"sqlite:///{folder.path}/workbell.db"
    assert folder.call("dispatch", "--url", url).out == "Nothing was due.\n"
    assert folder.call("consume", "--url", url).out == "No run was waiting that may start here.\n"
    named = call(folder.path, "dispatch", WORKBELL_URL="sqlite:///workbell.db")  # which is also what none would mean
    assert named.out == "Nothing was due.\n"


def test_chosen_runs(project: Folder) -> None:
    project.call("dispatch")
    project.call("schedules", "pause", "send")
    runs = [project.ask("jobs", "run", "send")["id"] for _ in range(2)]
    (one,) = project.ask("consume", runs[1])["results"]
    assert one == {"run": runs[1], "answer": "done", "status": "succeeded"}
    assert project.ask("runs", "show", runs[0])["status"] == "queued"


def test_bad_words(project: Folder) -> None:
    assert project.call("consume", "x", "--limit", "3").code == 2
    assert project.call("consume", "--for", "0").code != 0
    assert project.call("dispatch", "--limit", "0").code == 2


def _start(project: Folder, *runs: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "workbell", "consume", "--json", *runs]
    environment = without_settings()
    return subprocess.Popen(command, cwd=project.path, stdout=subprocess.PIPE, env=environment)


def test_a_signal_hands_back(project: Folder) -> None:
    project.write(
        "jobs/rest.py",
        "import time\nschedule = '@yearly'\ndef run():\n    open('begun', 'w').close()\n    time.sleep(60)\n",
    )
    url = f"sqlite:///{project.path}/workbell.db"
    run = project.ask("jobs", "run", "rest")
    process = _start(project, run["id"])
    try:
        until(lambda: (project.path / "begun").exists(), "its handler to begin", 60)
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=60)
    finally:
        kill(process)
    assert process.returncode == 0
    assert b'"retry"' in out
    with Workbell(url) as bell:
        assert bell.get(run["id"]).status == "queued"


def test_an_isolated_handler(project: Folder) -> None:
    code = "import os\nschedule = '@yearly'\nisolate = 'process'\ndef run():\n    return os.getpid()\n"
    project.write("jobs/apart.py", code)
    run = project.ask("jobs", "run", "apart")
    process = _start(project, run["id"])
    out, _ = process.communicate(timeout=60)
    assert b'"succeeded"' in out
    assert project.ask("runs", "show", run["id"])["result"] not in (None, process.pid)
