"""The command line and jobs that events start (A12): listed, shown, checked, and not run by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.integration.conftest import Folder
from tests.support.command_line import assert_refused
from tests.support.inside.cli import ReloadLines
from tests.support.inside.features import FolderChange, JobFile

APP = """
from workbell import Workbell

bell = Workbell("sqlite:///own.db")

@bell.on("users.*")
@bell.on("posts.*")
def note(event):
    "Notes what happens."
"""


@pytest.fixture
def project(folder: Folder) -> Folder:
    folder.write("workbell.toml", 'app = "notes_of_a_test:bell"\n')
    folder.write("notes_of_a_test.py", APP)
    folder.write("jobs/mail.py", 'on = "posts.created"\n\ndef run(ctx, event): ...\n')
    folder.write("jobs/both.py", 'schedule = "@hourly"\non = "posts.**"\n\ndef run(event=None): ...\n')
    return folder


def test_they_are_listed_with_their_events(project: Folder) -> None:
    listed = {job["name"]: job for job in json.loads(project.call("jobs", "list", "--json").out)}
    assert {name: (job["schedule"], job["on"]) for name, job in listed.items()} == {
        "note": (None, ["posts.*", "users.*"]),
        "mail": (None, ["posts.created"]),
        "both": ("@hourly", ["posts.**"]),
    }
    table = project.call("jobs", "list").out
    assert "on posts.*, users.*" in table
    assert "on posts.created" in table
    assert "when asked" not in table
    shown = project.call("jobs", "show", "note").out
    assert "posts.*" in shown
    assert "schedule" not in shown


def test_they_are_in_order(project: Folder) -> None:
    assert "2 job files are in order." in project.call("check").out


def test_a_bad_pattern_is_found(project: Folder) -> None:
    project.write("jobs/mail.py", 'on = "posts!"\n\ndef run(ctx, event): ...\n')
    done = project.call("check")
    assert done.code == 1
    assert done.out.startswith("jobs/mail.py:1: on: The pattern 'posts!' cannot be used")


def test_by_hand_there_is_no_event(project: Folder) -> None:
    assert_refused(project.call("jobs", "run", "mail"), 1, "job mail: it takes an event, and only events start it")


def test_what_dev_says_of_them() -> None:
    class Bell:
        """As far as the lines look at it."""

        engine = type("Engine", (), {"problems": ()})
        schedules = None

    said: list[str] = []
    lines: Any = type("Lines", (), {"announce": lambda self, style, text: said.append(text)})()
    bell: Any = Bell()
    file = JobFile(path="jobs/a.py", name="a", module="jobs.a", function=print, on=("posts.*", "b"), digest="")
    ReloadLines(bell, lines).on_change(FolderChange([file], [file], [], [], []))
    ReloadLines(bell, lines).on_change(FolderChange([], [], [], [file], []))
    assert said == ["loaded jobs/a.py: on posts.*, b", "jobs/a.py is gone; events start it no longer"]
