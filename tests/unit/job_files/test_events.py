"""Job files that events start (A12): the setting `on`, and what can be wrong with it."""

from __future__ import annotations

import pytest

from tests.support.project_folder import HOURLY, ProjectFolder, load_folder
from workbell.job_files import JobFile

ON = 'on = "posts.created"\n'
RUN = "def run(ctx, event): ...\n"


def load(project: ProjectFolder, text: str) -> JobFile:
    project.write("jobs/it.py", text)
    change = load_folder(project.folder)
    assert change.problems == []
    return change.loaded[0]


@pytest.mark.parametrize(
    ("text", "schedule", "on"),
    [
        (ON + RUN, None, ("posts.created",)),
        (ON + "def run(ctx): ...\n", None, ("posts.created",)),
        (ON + "def run(): ...\n", None, ("posts.created",)),
        (ON + "async def run(event, days=3): ...\n", None, ("posts.created",)),
        ('on = ["posts.*", "users.**"]\n' + RUN, None, ("posts.*", "users.**")),
        ('on = ("posts.*",)\n' + RUN, None, ("posts.*",)),
        (HOURLY + ON + "def run(ctx, event=None): ...\n", "0 * * * *", ("posts.created",)),
        (HOURLY + ON + "input = {'days': 5}\ndef run(ctx, days=3): ...\n", "0 * * * *", ("posts.created",)),
        (HOURLY + "on = None\ndef run(): ...\n", "0 * * * *", ()),
        (ON + "one = 1\nown = 2\n" + RUN, None, ("posts.created",)),  # close to on, and the file's own all the same
    ],
)
def test_what_a_file_may_say(project: ProjectFolder, text: str, schedule: str | None, on: tuple[str, ...]) -> None:
    file = load(project, text)
    assert (file.schedule, file.on) == (schedule, on)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("def run(): ...\n", None, "no schedule and no events to start it"),
        ("on = None\ndef run(): ...\n", None, "no schedule and no events to start it"),
        ("\non = ''\n" + RUN, 2, "on: The pattern '' cannot be used: it is empty"),
        ("\non = 'po*'\n" + RUN, 2, "on: The pattern 'po*'"),
        ("on = ['posts.*', 'posts created']\n" + RUN, 1, "on: The pattern 'posts created'"),
        ("on = ['posts.*', 'posts.*']\n" + RUN, 1, "on: the pattern 'posts.*' is there twice"),
        ("on = []\n" + RUN, 1, "on: expected a pattern of events, or a list of them, got list []"),
        ("on = 5\n" + RUN, 1, 'got int 5; write on = "posts.created".'),
        ("on = ['posts.*', 5]\n" + RUN, 1, "on: expected a pattern"),
        (ON + "def run(ctx, to): ...\n", 2, "an event brings nothing for the parameter 'to'"),
        (ON + "def run(ctx, event: dict): ...\n", 2, "the parameter 'event' is an Event, and not a dict"),
        (ON + "input = {}\n" + RUN, 2, "input: it is about a schedule, and there is none"),
        (ON + "window = ('02:00', '06:00')\n" + RUN, 2, "window: it is about a schedule"),
        (ON + "timezone = 'UTC'\n" + RUN, 2, "timezone: it is about a schedule"),
        (ON + "concurrency = 2\nconcurrency_key = 'event'\n" + RUN, 3, "has no argument 'event'"),
        (HOURLY + ON + RUN, 3, "run takes an event, and a tick of the schedule brings none; write event=None."),
        (HOURLY + ON + "input = {'event': 5}\ndef run(event=None): ...\n", 3, "no argument 'event'"),
    ],
)
def test_what_it_may_not(project: ProjectFolder, text: str, line: int | None, words: str) -> None:
    project.write("jobs/it.py", text)
    project.job("good.py")
    change = load_folder(project.folder)
    assert [file.name for file in change.loaded] == ["good"]
    (problem,) = change.problems
    assert (problem.path, problem.line) == ("jobs/it.py", line)
    assert words in problem.message


def test_what_is_wrong_is_said_though_the_file_cannot_be_executed(project: ProjectFolder) -> None:
    project.write("jobs/it.py", "on = 'po*'\nraise RuntimeError('no')\ndef run(): ...\n")
    assert [problem.line for problem in load_folder(project.folder).problems] == [1, 2]
