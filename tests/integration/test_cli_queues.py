"""`workbell queues` and `workbell jobs pause`: what waits, and what is paused."""

from __future__ import annotations

import pytest

from tests.integration.conftest import Folder
from tests.support.command_line import assert_refused
from tests.support.inside.stores import SqliteFiles
from workbell import Workbell


@pytest.fixture
def project(folder: Folder, sqlite_files: SqliteFiles) -> Folder:
    sqlite_files.make(folder.path / "workbell.db")
    folder.write("workbell.toml", "")
    limits = 'concurrency = 3\nconcurrency_key = "to"\nrate = "100/m"\n'
    folder.write("jobs/send.py", f'schedule = "@hourly"\nqueue = "mail"\n{limits}def run(to="all"): ...\n')
    return folder


def open_bell(folder: Folder) -> Workbell:
    return Workbell(f"sqlite:///{folder.path}/workbell.db")


def test_queues_are_listed_and_paused(project: Folder) -> None:
    assert project.ask("queues", "list") == []
    assert "no queues yet" in project.call("queues", "list").out
    project.ask("jobs", "run", "send")
    (queue,) = project.ask("queues", "list")
    assert queue.pop("oldest_wait_seconds") >= 0
    assert queue == {
        "name": "mail",
        "scheduled": 0,
        "queued": 1,
        "running": 0,
        "capped": [],
        "paused": False,
        "paused_since": None,
        "paused_jobs": [],
    }
    told = project.ask("queues", "pause", "mail")
    assert (told["queue"], told["job"], told["tenant"]) == ("mail", None, "default")
    (queue,) = project.ask("queues", "list")
    assert queue["paused_since"] == told["since"]
    text = project.call("queues", "list").out
    assert "mail" in text
    assert "all, " in text
    with open_bell(project) as bell:
        assert "`workbell queues resume mail`" in bell.why(bell.runs()[0].id)
    assert "queue mail goes on." in project.call("queues", "resume", "mail").out
    assert "queue mail was not paused." in project.call("queues", "resume", "mail").out
    assert project.ask("queues", "resume", "mail") == {"queue": "mail", "job": None, "resumed": 0}


def test_a_job_is_paused(project: Folder) -> None:
    assert "`workbell jobs resume send` lets it go on" in project.call("jobs", "pause", "send").out
    project.ask("jobs", "run", "send")
    with open_bell(project) as bell:
        assert "Job send is paused since" in bell.why(bell.runs()[0].id)
        assert [str(pause) for pause in bell.pauses()] == ["job send"]
    assert "Job send is paused in every queue" in project.call("queues", "list").error
    assert project.ask("jobs", "resume", "send")["resumed"] == 1


def test_a_job_in_a_queue_is_paused(project: Folder) -> None:
    project.call("queues", "pause", "mail", "--job", "send")
    (queue,) = project.ask("queues", "list")
    assert [paused["job"] for paused in queue["paused_jobs"]] == ["send"]
    text = project.call("queues", "resume", "other").out
    assert "Still paused: job send in queue mail." in text
    assert project.ask("queues", "resume", "mail", "--job", "send")["resumed"] == 1


def test_what_cannot_be_paused(project: Folder) -> None:
    assert_refused(project.call("jobs", "pause", "sent"), 4, "no job 'sent'")
    assert_refused(project.call("queues", "pause", " "), 1, "queue ' '")


def test_the_limits_of_a_job_file_are_shown(project: Folder) -> None:
    """A job file sets its limits, and a run of it stands in the lane of its key."""
    found = project.ask("jobs", "show", "send")
    assert (found["concurrency"], found["concurrency_key"], found["rate"]) == (3, "to", "100/m")
    text = project.call("jobs", "show", "send").out
    assert "3 at once for each to" in text
    project.ask("jobs", "run", "send", "--input", '{"to": "Ada"}')
    with open_bell(project) as bell:
        assert [run.lane.key for run in bell.runs()] == ["Ada"]


def test_a_queue_that_nobody_knows(project: Folder) -> None:
    project.ask("jobs", "run", "send")
    assert project.call("queues", "pause", "mail").error == ""
    answer = project.call("queues", "pause", "mial")
    assert answer.code == 0
    assert answer.error == (
        "No job is declared for queue mial, and no run waits there; did you mean mail? `workbell queues resume mial` "
        "takes it back.\n"
    )
    assert "did you mean" not in project.call("queues", "pause", "elsewhere").error
