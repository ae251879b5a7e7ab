"""A job file that says where the ends of its runs are told."""

from __future__ import annotations

import pytest

from tests.support.project_folder import HOURLY, ProjectFolder, load_folder
from workbell.job_files import JobFiles

SECRET = "T000-SECRET"


def test_a_job_file_says_it_in_the_same_words(project: ProjectFolder) -> None:
    urls = f'alert_url = "https://hooks.slack.com/{SECRET}"\nping_url = None\n'
    project.write("jobs/told.py", HOURLY + urls + "def run(ctx): ...\n")
    (file,) = load_folder(project.folder).loaded
    assert (file.alert_url, file.ping_url) == (f"https://hooks.slack.com/{SECRET}", None)
    assert SECRET not in repr(file)


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        (
            f"ping_url = 'http://127.0.0.1:8000/{SECRET}'\n",
            "ping_url: http://127.0.0.1:8000/…: the address is not public",
        ),
        ("alert_url = 5\n", "alert_url: expected a text such as https://…, got int."),
        (f"alert_ulr = 'https://hooks.slack.com/{SECRET}'\n", "write 'alert_url'"),
    ],
)
def test_one_that_cannot_be_sent_to_is_a_problem(project: ProjectFolder, setting: str, words: str) -> None:
    project.write("jobs/wrong.py", HOURLY + setting + "def run(ctx): ...\n")
    (problem,) = load_folder(project.folder).problems
    assert problem.line == 2
    assert words in problem.message
    assert SECRET not in problem.message


def test_what_the_operator_allows(project: ProjectFolder) -> None:
    project.write("jobs/told.py", HOURLY + "ping_url = 'http://127.0.0.1:8000/'\ndef run(ctx): ...\n")
    files = JobFiles(project.folder, "jobs", None, ("127.0.0.1",))
    try:
        assert files.reload().problems == []
    finally:
        files.close()
