"""A1, A2: which files are jobs, what they are called, and what is read from them."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.project_folder import HOURLY, ProjectFolder, load_folder, results
from workbell import Retry
from workbell.job_files import FolderChange


def names(change: FolderChange) -> list[str]:
    assert change.problems == []
    return [file.name for file in change.loaded]


def test_every_file_below_jobs_is_one_job(project: ProjectFolder) -> None:
    project.job("weekly.py")
    project.job("reports/monthly.py")
    project.job("reports/far/below/yearly.py")
    project.job("with-dash.py")
    change = load_folder(project.folder)
    assert [(file.path, file.name) for file in change.loaded] == [
        ("jobs/reports/far/below/yearly.py", "yearly"),
        ("jobs/reports/monthly.py", "monthly"),
        ("jobs/weekly.py", "weekly"),
        ("jobs/with-dash.py", "with-dash"),
    ]
    assert change.problems == []


def test_helpers_hidden_and_compiled_files_are_none(project: ProjectFolder) -> None:
    broken = "this is no python at all ("
    for path in ("_helper.py", "__init__.py", "_folder/inside.py", ".hidden/inside.py", ".hidden.py"):
        project.write(f"jobs/{path}", broken if path != "__init__.py" else "")
    project.write("jobs/__pycache__/weekly.cpython-311.pyc", broken)
    project.write("jobs/notes.txt", broken)
    project.write("outside.py", broken)
    (project.folder / "jobs/folder.py").mkdir()
    project.job("weekly.py")
    assert names(load_folder(project.folder)) == ["weekly"]


def test_no_folder_of_jobs_is_no_error(project: ProjectFolder) -> None:
    assert load_folder(project.folder) == FolderChange([], [], [], [], [])


def test_a_file_instead_of_the_folder_is_one(project: ProjectFolder) -> None:
    project.write("jobs", "")
    assert [problem.path for problem in load_folder(project.folder).problems] == ["jobs"]


def test_another_folder_by_setting(project: ProjectFolder) -> None:
    project.write("work/night/clean.py", HOURLY + "def run(): return __name__")
    for jobs in ("work/night", str(project.folder / "work/night")):
        change = load_folder(project.folder, jobs)
        assert [(file.path, file.function()) for file in change.loaded] == [("work/night/clean.py", "work.night.clean")]


def test_a_folder_outside_the_project(project: ProjectFolder, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/_help.py").write_text("answer = 42")
    (tmp_path / "elsewhere/clean.py").write_text(HOURLY + "from ._help import answer\ndef run(): return answer")
    assert results(load_folder(project.folder, "../elsewhere").loaded) == {"clean": 42}


def test_the_project_itself_as_folder_of_jobs(project: ProjectFolder) -> None:
    project.write("json.py", HOURLY + "def run(): return __name__")  # and it must not take the place of Python's own
    assert results(load_folder(project.folder, ".").loaded) == {"json": "shop.json"}
    assert sys.modules["json"].__name__ == "json"


def test_a_link_as_folder_of_jobs(project: ProjectFolder, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real/weekly.py").write_text(HOURLY + "def run(): return __name__")
    (project.folder / "jobs").symlink_to(tmp_path / "real")
    assert results(load_folder(project.folder).loaded) == {"weekly": "jobs.weekly"}


def test_all_settings_of_a_file(project: ProjectFolder) -> None:
    text = '''
    """Weekly numbers."""
    from datetime import timedelta
    from workbell import Context, Retry

    schedule = "0 3 * * MON"
    timezone = "Europe/Paris"
    window = ["02:00", "06:00"]
    outside = "skip"
    overlap = "queue_one"
    catch_up = "all"
    jitter = 5
    retry = Retry(attempts=7, delay=1)
    timeout = timedelta(minutes=2)
    queue = "slow"
    priority = -5
    enabled = False
    input = {"to": "a@b.c"}

    async def run(ctx: Context, to: str) -> None: ...
    '''
    file = project.write("jobs/reports/weekly.py", text)
    [job] = load_folder(project.folder).loaded
    assert (job.schedule, job.timezone, job.window, job.outside) == (
        "0 3 * * MON",
        "Europe/Paris",
        ("02:00", "06:00"),
        "skip",
    )
    assert (job.overlap, job.catch_up, job.jitter, job.retry) == ("queue_one", "all", 5, Retry(attempts=7, delay=1))
    assert (job.timeout, job.queue, job.priority, job.enabled) == (120, "slow", -5, False)
    assert (job.input, job.description, job.module) == ({"to": "a@b.c"}, "Weekly numbers.", "jobs.reports.weekly")
    assert inspect.iscoroutinefunction(job.function)
    assert inspect.getsourcefile(job.function) == str(file.resolve())


def test_what_a_file_leaves_out(project: ProjectFolder) -> None:
    project.write("jobs/plain.py", HOURLY + 'timezone = None\ndef run(ctx):\n    "Do it.\\n\\nAt length."\n')
    [job] = load_folder(project.folder).loaded
    assert (job.timezone, job.window, job.overlap, job.catch_up, job.retry, job.timeout) == (None,) * 6
    assert (job.queue, job.priority, job.enabled, job.input) == ("default", None, True, {})
    assert job.description == "Do it.\n\nAt length."


@pytest.mark.parametrize("count", [2, 3])
def test_two_files_with_one_name_name_each_other(project: ProjectFolder, count: int) -> None:
    paths = [f"jobs/{folder}/same.py" for folder in ("a", "b", "c")[:count]]
    for path in paths:
        project.write(path, HOURLY + "def run(): ...")
    project.job("other.py")
    change = load_folder(project.folder)
    assert [file.name for file in change.loaded] == ["other"]
    assert [problem.path for problem in change.problems] == paths
    for problem in change.problems:
        for other in set(paths) - {problem.path}:
            assert other in problem.message


def test_a_job_beside_a_folder_of_its_name(project: ProjectFolder) -> None:
    project.job("reports.py", "return helper.x", before="from . import _help as helper\n")
    project.write("jobs/_help.py", "x = 1")
    project.write("jobs/reports/_help.py", "x = 2")
    project.job("reports/weekly.py", "return helper.x", before="from . import _help as helper\n")
    assert results(load_folder(project.folder).loaded) == {"reports": 1, "weekly": 2}


def test_a_broken_job_beside_a_folder_of_its_name(project: ProjectFolder) -> None:
    project.write("jobs/reports.py", HOURLY + "1 / 0\ndef run(): ...")
    project.write("jobs/reports/_help.py", "x = 2")
    project.job("reports/weekly.py", "return x", before="from ._help import x\n")
    files = project.open()
    change = files.reload()
    assert results(change.loaded) == {"weekly": 2}
    assert [problem.path for problem in change.problems] == ["jobs/reports.py"]
    project.job("reports.py", "return 'mended'")
    assert results(files.reload().loaded) == {"reports": "mended", "weekly": 2}


@pytest.mark.parametrize("path", ["a.b.py", "v1.2/clean.py"])
def test_names_with_dots_are_refused(project: ProjectFolder, path: str) -> None:
    project.job(path)
    [problem] = load_folder(project.folder).problems
    assert "dot" in problem.message
    assert problem.path == f"jobs/{path}"


def test_names_that_no_job_can_have(project: ProjectFolder) -> None:
    project.job(" padded .py")
    project.job("x" * 201 + ".py")
    change = load_folder(project.folder)
    assert (change.loaded, len(change.problems)) == ([], 2)


def test_folders_and_files_that_cannot_be_read(project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    file = project.job("locked.py").resolve()
    project.job("open.py")
    open_file = Path.open

    def refuse(path: Path, mode: str = "r") -> Any:
        if path == file:
            raise PermissionError(13, "Permission denied", str(path))
        return open_file(path, mode)

    monkeypatch.setattr(Path, "open", refuse)
    change = load_folder(project.folder)
    assert [file.name for file in change.loaded] == ["open"]
    assert [str(problem) for problem in change.problems] == [
        "jobs/locked.py: it cannot be read: Permission denied; change its permissions."
    ]
