"""A job file whose job wants a process of its own."""

from __future__ import annotations

import pytest

from tests.support.project_folder import HOURLY, ProjectFolder, load_folder
from workbell.handlers.process_isolation import Isolation


def test_a_job_file_says_it_in_the_same_words(project: ProjectFolder) -> None:
    limits = "isolate = 'process'\nmemory_limit = '1GB'\ncpu_limit = 30\n"
    project.write("jobs/alone.py", HOURLY + limits + "def run(ctx): ...\n")
    project.write("jobs/among.py", HOURLY + "def run(ctx): ...\n")
    found = {file.name: file.isolation for file in load_folder(project.folder).loaded}
    assert found == {"alone": Isolation(10**9, 30.0), "among": None}


@pytest.mark.parametrize(
    ("settings", "line", "words"),
    [
        ("memory_limit = '1GB'\n", 2, "add isolate='process'"),
        ("isolate = 'thread'\n", 2, "'thread' is not known"),
        ("isolate = 'process'\ncpu_limit = 0\n", 3, "0 leaves no time"),
        ("isolate = 'process'\nmemory_limits = '1GB'\n", 3, "write 'memory_limit'"),
    ],
)
def test_a_job_file_with_wrong_limits_is_a_problem(
    project: ProjectFolder, settings: str, line: int, words: str
) -> None:
    project.write("jobs/wrong.py", HOURLY + settings + "def run(ctx): ...\n")
    (problem,) = load_folder(project.folder).problems
    assert problem.line == line
    assert words in problem.message
