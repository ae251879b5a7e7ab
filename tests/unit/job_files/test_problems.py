"""A2, A4: everything that can be wrong with a file is said at once, with its line; the others work."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.project_folder import HOURLY, ProjectFolder, load_folder, shown
from workbell.job_files.finder import JobModuleFinder

RUN = "def run(ctx): ...\n"


def problems(project: ProjectFolder, text: str) -> list[tuple[int | None, str]]:
    """What is said about one file; another one beside it must work."""
    project.write("jobs/it.py", text)
    project.job("good.py")
    change = load_folder(project.folder)
    assert [file.name for file in change.loaded] == ["good"]
    assert {problem.path for problem in change.problems} == {"jobs/it.py"}
    for problem in change.problems:
        assert problem.message.endswith((".", ":", "?"))
        assert "\n" not in problem.message
        assert "Traceback" not in problem.message
    return [(problem.line, problem.message) for problem in change.problems]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (RUN, None, "no schedule"),
        (HOURLY, None, "no function run"),
        ("\nschedule = ''\n" + RUN, 2, "empty"),
        ("\nschedule = ' '\n" + RUN, 2, "empty"),
        ("schedule = 5\n" + RUN, 1, "int 5"),
        ("schedule = None\n" + RUN, 1, "None"),
        ("schedule = '61 * * * *'\n" + RUN, 1, "61"),
        ("schedule = '* * *'\n" + RUN, 1, "* * *"),
        ("schedule = '0 0 31 2 *'\n" + RUN, 1, "0 0 31 2 *"),
        (HOURLY + "run = 5\n", 2, "int and not a function"),
        (HOURLY + "run = None\n", 2, "not a function"),
        (HOURLY + "class run: ...\n", 2, "not a function"),
        (HOURLY + "import functools\nrun = functools.partial(print)\n", 3, "partial"),
        (HOURLY + "def run():\n    yield 1\n", 2, "yield"),
        (HOURLY + "async def run():\n    yield 1\n", 2, "yield"),
        (HOURLY + "def run(*args): ...\n", 2, "args"),
        (HOURLY + "def run(ctx, to: str): ...\n", 2, "'to' is missing"),
        (HOURLY + "def run(context): ...\n", 2, "name it ctx"),
        (HOURLY + "def run(x: 'Missing'): ...\n", 2, "Missing"),
        (HOURLY + "input = {'x': 1}\n" + RUN, 2, "no argument 'x'"),
        (HOURLY + "input = {'x': 'a'}\ndef run(x: int): ...\n", 2, "'x'"),
        (HOURLY + "input = [1]\n" + RUN, 2, "dict"),
        (HOURLY + "input = {1: 2}\n" + RUN, 2, "names"),
        (HOURLY + "input = {'x': object()}\ndef run(x): ...\n", 2, "JSON"),
        (HOURLY + "timezone = 'Europe/Pariss'\n" + RUN, 2, "Europe/Paris"),
        (HOURLY + "timezone = 2\n" + RUN, 2, "timezone"),
        (HOURLY + "concurrency = 0\n" + RUN, 2, "whole number from 1"),
        (HOURLY + "rate = 'fast'\n" + RUN, 2, "cannot be read"),
        (HOURLY + "rate = '1/s'\nrate_key = 'a b'\n" + RUN, 3, "not the name of an argument"),
        (HOURLY + "rate = '1/s'\nrate_key = 'to'\n" + RUN, 3, "has no argument 'to'; it takes none"),
        (HOURLY + "concurrency_key = 'to'\ndef run(to='x'): ...\n", 2, "there is no concurrency"),
        (HOURLY + "window = '02:00'\n" + RUN, 2, "two times"),
        (HOURLY + "window = ('02:00', '26:00')\n" + RUN, 2, "26:00"),
        (HOURLY + "outside = 'later'\n" + RUN, 2, "defer, skip"),
        (HOURLY + "overlap = 'never'\n" + RUN, 2, "skip, queue_one, allow, cancel_previous"),
        (HOURLY + "catch_up = True\n" + RUN, 2, "latest, all, none"),
        (HOURLY + "retry = '3'\n" + RUN, 2, "expected a Retry"),
        (HOURLY + "from workbell import Retry\nretry = Retry(attempts=0)\n" + RUN, 3, "attempts"),
        (HOURLY + "timeout = 'long'\n" + RUN, 2, "timeout"),
        (HOURLY + "timeout = 0\n" + RUN, 2, "timeout"),
        (HOURLY + "timeout = -1\n" + RUN, 2, "timeout"),
        (HOURLY + "jitter = -1\n" + RUN, 2, "jitter"),
        (HOURLY + "queue = ' '\n" + RUN, 2, "queue"),
        (HOURLY + "priority = 1000\n" + RUN, 2, "priority"),
        (HOURLY + "enabled = 'no'\n" + RUN, 2, "True or False"),
        (HOURLY + "description = 5\n" + RUN, 2, "description"),
        ("if True:\n    try:\n        schedule = 5\n    finally: pass\n" + RUN, 3, "int 5"),
        ("x, schedule = 1, 5\n" + RUN, 1, "int 5"),
        ("schedule: str = 5\n" + RUN, 1, "int 5"),
    ],
)
def test_one_thing_wrong(project: ProjectFolder, text: str, line: int | None, words: str) -> None:
    [(found, message)] = problems(project, text)
    assert found == line
    assert words in message


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (HOURLY + "def run(:\n", 2, "cannot be read as Python"),
        (HOURLY + "\n\n  odd = 1\n" + RUN, 4, "unexpected indent"),
        ("(" * 1000, 1, "cannot be read as Python"),
        (HOURLY + "import there_is_no_such\n" + RUN, 2, "there is no module 'there_is_no_such'; install it"),
        (HOURLY + RUN + "\n1 / 0\n", 4, "ZeroDivisionError"),
        (HOURLY + RUN + "\nraise OSError('a\\nb') from KeyError(7)\n", 4, "OSError: a b, caused by KeyError: 7 (while"),
        (HOURLY + "def f():\n    1 / 0\n" + RUN + "f()\n", 3, "ZeroDivisionError"),
        (HOURLY + "import sys\n" + RUN + "sys.exit(3)\n", 4, "ends the process"),
        (HOURLY + RUN + "raise BaseException('odd')\n", 3, "odd"),
        (HOURLY + RUN + "class E(Exception):\n    def __str__(self): 1 / 0\nraise E\n", 5, "jobs.it.E"),
        (HOURLY + "from jobs._bad import x\n" + RUN, 2, "jobs/_bad.py:3: ZeroDivisionError"),
        (HOURLY + "from jobs._worse import x\n" + RUN, 2, "jobs/_worse.py:2: "),
        (HOURLY + "from ._good import nothing\n" + RUN, 2, "nothing"),
        (HOURLY + "from .......beyond import nothing\n" + RUN, 2, "beyond"),
    ],
)
def test_files_that_cannot_be_executed(project: ProjectFolder, text: str, line: int, words: str) -> None:
    project.write("jobs/_bad.py", "\n\n1 / 0\n")
    project.write("jobs/_worse.py", "\ndef (\n")
    project.write("jobs/_good.py", "")
    before = set(sys.modules)
    [(found, message)] = problems(project, text)
    assert found == line
    assert words in message
    left = {name for name in set(sys.modules) - before if name.startswith("jobs")}
    assert left == {"jobs", "jobs.good"} | ({"jobs._good"} & left)


def test_files_that_are_no_text(project: ProjectFolder) -> None:
    [(_, message)] = problems(project, "x = '\0'\n")
    assert "cannot be read as Python" in message
    (project.folder / "jobs/it.py").write_bytes(b"x = '\xff'")
    [problem] = load_folder(project.folder).problems
    assert "cannot be read as Python" in problem.message


def test_everything_that_is_wrong_is_said_at_once(project: ProjectFolder) -> None:
    text = """
    schedule = "99 * * * *"
    timezone = "Mars"
    window = ("25:00", "06:00")
    overlap = "x"
    catch_up = "x"
    retry = "5"
    timeout = -1
    queue = ""
    enabled = 1
    input = {"y": 1}
    prioritty = 7

    def run(x: int): ...
    """
    found = problems(project, text)
    assert [line for line, _ in found] == list(range(2, 13))


def test_also_of_a_file_that_cannot_be_executed(project: ProjectFolder) -> None:
    text = """
    import there_is_no_such
    schedule = "99 * * * *"
    timezone = "Mars"
    timeout = there_is_no_such.TIMEOUT
    """
    assert [line for line, _ in problems(project, text)] == [None, 2, 3, 4]  # run is missing


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("shedule", "schedule"),
        ("SCHEDULE", "schedule"),
        ("timezome", "timezone"),
        ("time_zone", "timezone"),
        ("windows", "window"),
        ("catchup", "catch_up"),
        ("enable", "enabled"),
        ("over_lap", "overlap"),
        ("Timeout", "timeout"),
    ],
)
def test_misspelt_settings(project: ProjectFolder, wrong: str, right: str) -> None:
    start = "" if right == "schedule" else HOURLY
    [(line, message)] = problems(project, f"{start}\n{wrong} = '0 3 * * *'\n{RUN}")
    assert line == (2 if right == "schedule" else 3)
    assert f"write {right!r}" in message


def test_a_misspelt_function(project: ProjectFolder) -> None:
    [(line, message)] = problems(project, HOURLY + "\ndef runs(ctx): ...\n")
    assert (line, "write 'run'" in message) == (3, True)


def test_names_of_ones_own_are_left_alone(project: ProjectFolder) -> None:
    """Only what looks like a missing setting; never imports, classes, functions, private or constant names."""
    text = """
    from os import path as timezones
    schedule = "0 3 * * *"
    timeout = 5
    timeouts = [1, 2]
    inputs = [1, 2]
    TIMEZONE = "Mars"
    _timezone = "Mars"
    client = tries = runner = 5
    class Retry: ...
    def windows(): ...
    def run(ctx): ...
    """
    project.write("jobs/it.py", text)
    assert load_folder(project.folder).problems == []


def test_fifty_broken_files_are_all_listed(project: ProjectFolder) -> None:
    for number in range(50):
        project.write(
            f"jobs/folder{number % 5}/job{number:02}.py", ["def (", RUN, HOURLY, "1 / 0", "import nope"][number % 5]
        )
    found = load_folder(project.folder).problems
    assert len({problem.path for problem in found}) == 50
    assert found == sorted(found, key=lambda problem: (problem.path, problem.line or 0))


def test_close_leaves_no_modules_behind(project: ProjectFolder) -> None:
    project.write("mylib.py", "x = 1")
    project.job("good.py", before="import mylib\n")
    project.write("jobs/bad.py", "import mylib\nschedule = '0 3 * * *'\n\n\n\ndef run(to): ...\n")
    files = project.open()
    assert shown(files.reload().problems) == [
        "jobs/bad.py:6: job bad: the argument 'to' is missing; the arguments are to. "
        "Set input = {…} in the file; or, if to is to be the context, name it ctx."
    ]
    assert len(_modules_of(project)) >= 2, "mylib and the good job"
    assert project.folder.resolve() in _projects_with_a_finder()
    files.close()
    assert _modules_of(project) == []
    assert project.folder.resolve() not in _projects_with_a_finder()


def _projects_with_a_finder() -> list[Path]:
    """Also those of other tests, whose jobs stay loaded."""
    return [finder.folders.project for finder in sys.meta_path if isinstance(finder, JobModuleFinder)]


def _modules_of(project: ProjectFolder) -> list[str]:
    """Names of loaded modules whose files are in a project's folder."""
    folder = str(project.folder.resolve())
    return [
        name
        for name, module in list(sys.modules.items())
        if (getattr(module, "__file__", None) or "").startswith(folder)
    ]


def test_the_default_zone_is_the_one_to_check_by(project: ProjectFolder) -> None:
    project.job("good.py")
    assert load_folder(project.folder, timezone="Europe/Paris").problems == []
    [problem] = load_folder(project.folder, timezone="Mars").problems
    assert "Mars" in problem.message


def test_ctrl_c_is_no_problem_of_the_file(project: ProjectFolder) -> None:
    project.write("jobs/slow.py", HOURLY + RUN + "raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        load_folder(project.folder)
    assert "jobs.slow" not in sys.modules
