"""`workbell init`: a project that works, and nothing overwritten."""

from __future__ import annotations

from pathlib import Path

from tests.integration.conftest import Folder
from tests.support.command_line import assert_refused
from tests.support.inside.cli import STARTER_FILES as FILES


def test_a_new_project_is_in_order(folder: Folder) -> None:
    """A1, A2: a workbell.toml, and a file in jobs/ that is a job."""
    answer = folder.call("init", "demo")
    assert answer.code == 0, answer
    assert "cd demo\n  workbell dev" in answer.out
    assert {file for file in FILES if (folder.path / "demo" / file).is_file()} == set(FILES)
    folder._monkeypatch.chdir(folder.path / "demo")
    assert folder.call("check") == (0, "1 job file is in order.\n", "")
    (job,) = folder.ask("jobs", "list")
    assert (job["name"], job["schedule"], job["file_path"]) == ("hello", "*/2 * * * * *", "jobs/hello.py")
    assert not list(Path().glob("*.db")), "to look must not make a store"


def test_here(folder: Folder) -> None:
    answer = folder.call("init")
    assert "this folder" in answer.out
    assert "cd " not in answer.out
    assert (folder.path / "workbell.toml").is_file()


def test_what_is_there_is_left_as_it_is(folder: Folder) -> None:
    folder.write("workbell.toml", 'project = "mine"\n')
    folder.write("jobs/nightly/report.py", "schedule = '@daily'\ndef run(): ...\n")
    told = folder.ask("init")
    assert told == {"folder": ".", "written": [".gitignore"], "kept": ["workbell.toml", "jobs/"]}
    assert (folder.path / "workbell.toml").read_text() == 'project = "mine"\n'
    assert not (folder.path / "jobs" / "hello.py").exists()
    again = folder.call("init")
    assert "left as it is: workbell.toml, jobs/, .gitignore" in again.out
    assert "Written" not in again.out


def test_where_no_folder_can_be(folder: Folder) -> None:
    folder.write("taken", "a file")
    assert_refused(folder.call("init", "taken"), 1, "taken", "choose another folder")
    assert_refused(folder.call("init", "taken/below"), 1, "taken", "choose another folder")
