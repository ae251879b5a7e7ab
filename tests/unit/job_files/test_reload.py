"""A10: what changed is loaded anew, what did not stays the very same, and what broke keeps its last good version."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.project_folder import HOURLY, ProjectFolder, results, shown
from workbell import JobsError
from workbell.job_files import FolderChange, JobFile, JobFiles


def names(files: list[JobFile]) -> list[str]:
    return [file.name for file in files]


def summary(change: FolderChange) -> tuple[list[str], list[str], list[str]]:
    return names(change.added), names(change.changed), names(change.removed)


def in_the_same_instant(file: Path, write: Callable[[], object]) -> None:
    """Write a file so that its time and size do not tell: as Python's compiled modules would not notice."""
    before = file.stat()
    write()
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_size == before.st_size


def test_added_changed_removed(project: ProjectFolder) -> None:
    project.job("a.py", "return 1")
    project.job("b.py", "return 1")
    files = project.open()
    assert summary(files.reload()) == (["a", "b"], [], [])
    project.job("a.py", "return 2")
    project.job("c.py", "return 3")
    project.remove("jobs/b.py")
    change = files.reload()
    assert summary(change) == (["c"], ["a"], ["b"])
    assert results(change.loaded) == {"a": 2, "c": 3}
    assert "jobs.b" not in sys.modules


def test_nothing_happens_to_what_is_unchanged(project: ProjectFolder) -> None:
    project.job("a.py", "return 1")
    project.job("b.py", "return 1", before="executed = []\n")
    files = project.open()
    first = files.reload()
    (project.folder / "jobs/a.py").touch()
    project.job("b.py", "return 22")
    second = files.reload()
    assert summary(second) == ([], ["b"], [])
    assert first.loaded[0] is second.loaded[0]
    assert first.loaded[0].function is second.loaded[0].function
    assert summary(files.reload()) == ([], [], [])


@pytest.mark.parametrize("folder", ["", "mail/"])
def test_a_file_that_goes_leaves_the_others_alone(project: ProjectFolder, folder: str) -> None:
    for name in ("one", "three", f"{folder}two"):
        project.job(f"{name}.py", "return 1")
    files = project.open()
    first = files.reload()
    kept = {file.name: file for file in first.loaded if file.name != "two"}
    (project.folder / f"jobs/{folder}two.py").rename(project.folder / f"jobs/{folder}other.py")
    second = files.reload()
    assert summary(second) == (["other"], [], ["two"])
    project.remove(f"jobs/{folder}other.py")
    third = files.reload()
    assert summary(third) == ([], [], ["other"])
    for change in (second, third):  # not executed again: they are the very same
        assert all(file is kept[file.name] for file in change.loaded if file.name in kept)
        assert {"one", "three"} <= set(names(change.loaded))


def test_a_file_that_goes_and_was_used_by_others(project: ProjectFolder) -> None:
    project.job("one.py", "return 1")
    project.job("two.py", "return 2")
    project.job(
        "uses.py",
        "return VALUE",
        before="try:\n    from jobs.two import run as other\n    VALUE = 2\nexcept ImportError:\n    VALUE = 0\n",
    )
    files = project.open()
    assert results(files.reload().loaded) == {"one": 1, "two": 2, "uses": 2}
    project.remove("jobs/two.py")
    change = files.reload()
    assert summary(change) == ([], ["uses"], ["two"])
    assert results(change.loaded) == {"one": 1, "uses": 0}


def test_settings_alone_are_a_change(project: ProjectFolder) -> None:
    project.job("a.py")
    files = project.open()
    files.reload()
    project.job("a.py", before="queue = 'slow'\n")
    change = files.reload()
    assert (summary(change), change.loaded[0].queue) == (([], ["a"], []), "slow")


def test_an_edit_within_the_same_second(project: ProjectFolder) -> None:
    file = project.job("a.py", "return 1")
    files = project.open()
    assert results(files.reload().loaded) == {"a": 1}
    for number in range(2, 8):
        in_the_same_instant(file, lambda number=number: project.job("a.py", f"return {number}"))
        assert results(files.reload().loaded) == {"a": number}


@pytest.mark.parametrize(
    ("helper", "line"),
    [
        ("jobs/_mail.py", "from jobs._mail import x"),
        ("jobs/_mail.py", "from ._mail import x"),
        ("jobs/_mail.py", "from . import _mail; x = _mail.x"),
        ("jobs/_mail.py", "from jobs import _mail; x = _mail.x"),
        ("jobs/_mail.py", "import jobs._mail; x = jobs._mail.x"),
        ("jobs/_in/mail.py", "from ._in.mail import x"),
        ("jobs/_in/__init__.py", "from ._in import x"),
        ("jobs/__init__.py", "from jobs import x"),
        ("mylib.py", "from mylib import x"),
        ("mylib/__init__.py", "import mylib; x = mylib.x"),
        ("mylib/deep/mail.py", "from mylib.deep.mail import x"),
        ("mylib.py", "import importlib; x = importlib.import_module('my' + 'lib').x"),
    ],
)
def test_an_edit_of_a_helper(project: ProjectFolder, helper: str, line: str) -> None:
    """Within the same second, too; however it is imported; and those who do not use it are left alone."""
    file = project.write(helper, "x = 1")
    project.job("uses.py", "return x", before=line + "\n")
    project.job("does_not.py")
    files = project.open()
    assert results(files.reload().loaded) == {"uses": 1, "does_not": None}
    for number in (2, 3):
        in_the_same_instant(file, lambda number=number: project.write(helper, f"x = {number}"))
        change = files.reload()
        assert results(change.loaded) == {"uses": number, "does_not": None}
        if "importlib" not in line and helper != "jobs/__init__.py":
            assert names(change.changed) == ["uses"]


def test_helpers_of_helpers(project: ProjectFolder) -> None:
    project.write("jobs/_one.py", "x = 1")
    project.write("mylib.py", "from jobs import _one\ndef get(): return _one.x")
    project.job("uses.py", "return mylib.get()", before="import mylib\n")
    files = project.open()
    assert results(files.reload().loaded) == {"uses": 1}
    project.write("jobs/_one.py", "x = 2")
    assert results(files.reload().loaded) == {"uses": 2}


def test_helpers_imported_when_the_job_runs(project: ProjectFolder) -> None:
    project.write("jobs/_late.py", "x = 1")
    project.job("uses.py", "from jobs import _late\nreturn _late.x")
    files = project.open()
    assert results(files.reload().loaded) == {"uses": 1}
    project.write("jobs/_late.py", "x = 2")
    assert results(files.reload().loaded) == {"uses": 2}
    project.write("jobs/_late.py", "x = 1 / 0")  # broken: the last good one goes on
    change = files.reload()
    assert results(change.loaded) == {"uses": 2}
    assert shown(change.problems)[0].startswith("jobs/_late.py:1: ZeroDivisionError")
    project.write("jobs/_late.py", "x = 3")
    assert results(files.reload().loaded) == {"uses": 3}


def test_helpers_share_one_state(project: ProjectFolder) -> None:
    project.write("jobs/_state.py", "seen = []")
    for name in ("a", "b"):
        project.job(f"{name}.py", f"seen.append('{name}'); return list(seen)", before="from ._state import seen\n")
    assert results(project.open().reload().loaded) == {"a": ["a"], "b": ["a", "b"]}


def test_jobs_that_import_each_other(project: ProjectFolder) -> None:
    project.job("a.py", "return b.x", before="from jobs import b\nx = 'a'\n")
    project.job("b.py", "from jobs import a\n    return a.x".replace("\n    ", "\n"), before="x = 'b'\n")
    files = project.open()
    assert results(files.reload().loaded) == {"a": "b", "b": "a"}
    project.job("b.py", "return 'own'", before="x = 'new'\n")
    change = files.reload()
    assert results(change.loaded) == {"a": "new", "b": "own"}
    assert sorted(names(change.changed)) == ["a", "b"]


def test_what_the_process_had_imported_before_stays(project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write("theapp.py", "x = 1")
    monkeypatch.syspath_prepend(str(project.folder))
    import theapp  # type: ignore[import-not-found]

    project.job("uses.py", "return theapp.x", before="import theapp\n")
    files = project.open()
    assert results(files.reload().loaded) == {"uses": 1}
    project.write("theapp.py", "x = 22")
    assert summary(files.reload()) == ([], [], [])
    assert sys.modules["theapp"] is theapp


def test_what_the_application_imports_itself_stays(project: ProjectFolder) -> None:
    """Also after the job files, and though it is below the project's folder."""
    project.write("later.py", "x = 1")
    project.job("a.py")
    files = project.open()
    files.reload()
    import later  # type: ignore[import-not-found]

    project.write("later.py", "x = 22")
    assert summary(files.reload()) == ([], [], [])
    assert sys.modules["later"] is later


def test_libraries_below_the_project_stay(project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("venv/lib/site-packages", ".venv/lib"):
        name = "inst_" + folder.split("/")[0].strip(".") + str(folder.startswith("."))
        project.write(f"{folder}/{name}.py", "x = 1")
        monkeypatch.syspath_prepend(str(project.folder / folder))
        project.job(f"uses_{name}.py", f"return {name}.x", before=f"import {name}\n")
    files = project.open()
    first = files.reload()
    assert set(results(first.loaded).values()) == {1}
    for file in project.folder.glob("*/lib/**/inst_*.py"):
        file.write_text("x = 22")
    assert summary(files.reload()) == ([], [], [])


BROKEN = {
    "syntax": HOURLY + "def run(:\n",
    "import": HOURLY + "import there_is_no_such\ndef run(): ...\n",
    "raises": HOURLY + "def run(): return 'new'\n1 / 0\n",
    "exits": HOURLY + "def run(): return 'new'\nraise SystemExit\n",
    "cron": "schedule = '99 * * * *'\ndef run(): return 'new'\n",
    "no run": HOURLY,
    "empty": "",
    "setting": HOURLY + "timeout = -1\ndef run(): return 'new'\n",
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_a_broken_file_keeps_its_last_good_version(project: ProjectFolder, broken: str) -> None:
    project.job("a.py", "return x", before="from ._help import x\n")
    project.write("jobs/_help.py", "x = 'good'")
    project.job("b.py", "return 1")
    files = project.open()
    first = files.reload()
    modules = dict(sys.modules)
    project.write("jobs/a.py", broken)
    project.job("b.py", "return 22")
    for _ in range(2):
        change = files.reload()
        assert results(change.loaded) == {"a": "good", "b": 22}
        assert change.loaded[0] is first.loaded[0]
        assert {problem.path for problem in change.problems} == {"jobs/a.py"}
        assert (change.added, change.removed) == ([], [])
        assert sys.modules["jobs.a"] is modules["jobs.a"]
        assert sys.modules["jobs._help"] is modules["jobs._help"]
        assert vars(sys.modules["jobs"])["a"] is modules["jobs.a"]
    project.job("a.py", "return 'mended'")
    change = files.reload()
    assert (results(change.loaded), change.problems) == ({"a": "mended", "b": 22}, [])


@pytest.mark.parametrize("broken", ["def (", "1 / 0", "import there_is_no_such", "raise SystemExit", "y = 1"])
def test_a_broken_helper_keeps_its_last_good_version(project: ProjectFolder, broken: str) -> None:
    project.write("jobs/_help.py", "x = 1")
    project.job("a.py", "return x", before="from ._help import x\n")
    project.job("b.py", "from ._help import x\nreturn x")
    files = project.open()
    assert results(files.reload().loaded) == {"a": 1, "b": 1}
    project.write("jobs/_help.py", broken)
    change = files.reload()
    assert "a" in names(change.loaded)
    assert change.loaded[0].function() == 1
    if broken != "y = 1":  # else it is a good helper, only not for a
        assert results(change.loaded) == {"a": 1, "b": 1}
    assert change.problems
    assert {problem.path for problem in change.problems} <= {"jobs/_help.py", "jobs/a.py"}
    project.write("jobs/_help.py", "x = 2")
    change = files.reload()
    assert (results(change.loaded), change.problems) == ({"a": 2, "b": 2}, [])


def test_a_helper_that_only_some_can_use(project: ProjectFolder) -> None:
    project.write("jobs/_help.py", "x = y = 1")
    project.job("a.py", "return x", before="from ._help import x\n")
    project.job("b.py", "return y", before="from ._help import y\n")
    files = project.open()
    files.reload()
    project.write("jobs/_help.py", "x = 2")
    change = files.reload()
    assert results(change.loaded) == {"a": 2, "b": 1}
    assert [(problem.path, problem.line) for problem in change.problems] == [("jobs/b.py", 2)]


def test_a_file_broken_from_the_start_comes_in_when_mended(project: ProjectFolder) -> None:
    project.job("a.py", "return mylib.x", before="import mylib\n")
    files = project.open()
    assert names(files.reload().loaded) == []
    project.write("mylib.py", "x = 1")
    change = files.reload()
    assert (summary(change), results(change.loaded)) == ((["a"], [], []), {"a": 1})


def test_a_second_file_of_one_name(project: ProjectFolder) -> None:
    project.job("a/same.py", "return 'a'")
    files = project.open()
    first = files.reload()
    project.job("b/same.py", "return 'b'")
    project.job("a/same.py", "return 'a, edited'")
    change = files.reload()
    assert [problem.path for problem in change.problems] == ["jobs/a/same.py", "jobs/b/same.py"]
    assert change.loaded == first.loaded  # neither is loaded anew
    assert results(change.loaded) == {"same": "a"}
    project.remove("jobs/a/same.py")
    change = files.reload()
    assert (summary(change), results(change.loaded)) == (([], ["same"], []), {"same": "b"})


def test_a_file_that_is_moved_is_the_same_job(project: ProjectFolder) -> None:
    file = project.job("a.py", "return __name__")
    files = project.open()
    files.reload()
    (project.folder / "jobs/reports").mkdir()
    file.rename(project.folder / "jobs/reports/a.py")
    change = files.reload()
    assert summary(change) == ([], ["a"], [])
    assert (change.loaded[0].path, change.loaded[0].function()) == ("jobs/reports/a.py", "jobs.reports.a")


def test_the_whole_folder_comes_and_goes(project: ProjectFolder) -> None:
    files = project.open()
    assert files.reload().loaded == []
    file = project.job("reports/a.py")
    assert names(files.reload().added) == ["a"]
    file.unlink()
    file.parent.rmdir()
    file.parent.parent.rmdir()
    assert names(files.reload().removed) == ["a"]


def test_a_folder_becomes_a_package(project: ProjectFolder) -> None:
    project.job("reports/a.py", "return 1")
    files = project.open()
    files.reload()
    project.write("jobs/reports/__init__.py", "x = 2")
    project.job("reports/a.py", "return x", before="from . import x\n")
    assert results(files.reload().loaded) == {"a": 2}


def test_a_running_handler_keeps_its_code(project: ProjectFolder) -> None:
    project.write("jobs/_help.py", "def answer(): return 'old'")
    body = "started.set()\ngo.wait(30)\nreturn _help.answer(), local()"
    before = "import threading\nfrom . import _help\nstarted, go = threading.Event(), threading.Event()\n"
    project.job("a.py", body, before=before + "def local(): return 'old'\n")
    files = project.open()
    [job] = files.reload().loaded
    answers: list[object] = []
    thread = threading.Thread(target=lambda: answers.append(job.function()))
    thread.start()
    module = sys.modules["jobs.a"]
    assert module.started.wait(30)
    project.write("jobs/_help.py", "def answer(): return 'new'")
    project.job("a.py", "return 'new'")
    assert results(files.reload().loaded) == {"a": "new"}
    module.go.set()
    thread.join(30)
    assert answers == [("old", "old")]


def test_reloads_at_once_take_turns(project: ProjectFolder) -> None:
    for number in range(10):
        project.job(f"job{number}.py", f"return {number}", before="from ._help import x\n")
    project.write("jobs/_help.py", "x = 1")
    files = project.open()
    changes: list[FolderChange] = []
    threads = [threading.Thread(target=lambda: changes.append(files.reload())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(len(change.added) for change in changes) == [0] * 7 + [10]
    assert all(len(change.loaded) == 10 and not change.problems for change in changes)


def test_a_file_that_asks_for_a_reload_is_told(project: ProjectFolder) -> None:
    project.write("jobs/a.py", HOURLY + "import myfiles\nmyfiles.files.reload()\ndef run(): ...\n")
    project.write("myfiles.py", "files = None")
    files = project.open()
    assert files.reload().problems  # it is None
    sys.modules["myfiles"] = holder = type(sys)("myfiles")
    try:
        holder.files = files
        assert ["must wait" in problem.message for problem in files.reload().problems] == [True]
    finally:
        del sys.modules["myfiles"]


def test_modules_of_the_same_name_from_elsewhere(project: ProjectFolder, tmp_path: Path) -> None:
    """Another project in the same process, and an installed library that is called jobs too."""
    other = ProjectFolder(tmp_path / "other")
    other.write("jobs/__init__.py", "x = 'other'")
    other.job("a.py", "return 'other'")
    assert results(JobFiles(other.folder).reload().loaded) == {"a": "other"}
    sys.path.insert(0, str(other.folder))
    project.job("a.py", "return 'mine'")
    project.job("b.py", "return 'mine'")
    assert results(project.open().reload().loaded) == {"a": "mine", "b": "mine"}


def test_closing_takes_everything_out(project: ProjectFolder) -> None:
    project.write("mylib.py", "x = 1")
    project.job("a.py", "return mylib.x", before="import mylib\n")
    files = project.open()
    [job] = files.reload().loaded
    files.close()
    assert not {"jobs", "jobs.a", "mylib"} & sys.modules.keys()
    assert job.function() == 1
    assert names(files.reload().added) == ["a"]


def test_reload_inside_a_load_does_not_hang(project: ProjectFolder) -> None:
    files = project.open()
    files._finder.loading = threading.get_ident()
    with pytest.raises(JobsError, match="being loaded"):
        files.reload()


def test_a_job_that_another_one_has_imported_anew(project: ProjectFolder) -> None:
    """By the time its turn comes it is loaded already, and unchanged itself: it must not stay as it was."""
    project.write("jobs/_help.py", "x = 1")
    project.job("a.py", "return b.x", before="from jobs import b\n")
    project.job("b.py", "return x", before="from ._help import x\n")
    files = project.open()
    assert results(files.reload().loaded) == {"a": 1, "b": 1}
    project.write("jobs/_help.py", "x = 2")
    change = files.reload()
    assert results(change.loaded) == {"a": 2, "b": 2}
    assert change.loaded[1].function is sys.modules["jobs.b"].run


@pytest.mark.parametrize("ending", ["1 / 0", "timeout = -1", "import there_is_no_such", "raise SystemExit"])
def test_a_failed_load_leaves_the_modules_as_they_were(project: ProjectFolder, ending: str) -> None:
    project.job("good.py")
    files = project.open()
    files.reload()
    before = {name: module for name, module in sys.modules.items() if name.split(".")[0] in ("jobs", "mylib")}
    project.write("jobs/_help.py", "x = 1")
    project.write("mylib.py", "x = 1")
    project.write("jobs/bad.py", HOURLY + f"import mylib\nfrom . import _help\ndef run(): ...\n{ending}\n")
    assert files.reload().problems
    after = {name: module for name, module in sys.modules.items() if name.split(".")[0] in ("jobs", "mylib")}
    assert after == before
    assert not {"_help", "bad"} & vars(sys.modules["jobs"]).keys()
