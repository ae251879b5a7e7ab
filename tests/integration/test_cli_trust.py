"""Settings and code of others are not used, whatever the command; an ordinary project never meets a refusal."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.conftest import Folder
from tests.support.command_line import assert_refused, environment
from tests.support.foreign import IS_ROOT, hand_over, take_back
from tests.support.warm import TOP

JOB = 'schedule = "@hourly"\n\ndef run(): ...\n'
RAN = "from pathlib import Path\nPath({!r}).write_text('it ran')\n"
APP = "from workbell import Workbell\nbell = Workbell('memory://')\n"
ORDINARY = 54321  # nobody here has this number, not even whoever checked this out


@pytest.fixture
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that is there after code of another has run."""
    return tmp_path_factory.mktemp("ran") / "ran"


@pytest.mark.parametrize(
    "command", ["runs list", "jobs list", "doctor", "tokens list", "start", "schedules preview @daily"]
)
def test_a_workbell_toml_of_another_above(
    folder: Folder, ran: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """As in a folder for all: whoever calls a command below it would run what the file names."""
    folder.write("shop.py", RAN.format(str(ran)) + APP)
    file = folder.write("workbell.toml", 'app = "shop:bell"\n')
    word = hand_over(file)
    (folder.path / "below").mkdir()
    monkeypatch.chdir(folder.path / "below")
    assert_refused(folder.call(*command.split()), 78, str(file), word, f"WORKBELL_TRUST={folder.path}")
    assert not ran.exists()
    monkeypatch.setenv("WORKBELL_TRUST", str(folder.path))
    if command == "runs list":
        assert folder.call(*command.split()).code == 0
        assert ran.exists()


def test_check_says_so_and_goes_on(folder: Folder) -> None:
    folder.write("jobs/mine.py", JOB)
    word = hand_over(folder.write("workbell.toml", ""))
    hand_over(folder.write("jobs/theirs.py", JOB))
    answer = folder.call("check")
    assert answer.code == 1
    theirs, toml = answer.out.splitlines()
    assert theirs.startswith("jobs/theirs.py: it ")
    assert toml.startswith("workbell.toml: it ")
    assert word in theirs
    assert word in toml


def test_the_environment_alone_says_whom_to_trust(folder: Folder) -> None:
    folder.write("workbell.toml", 'trust = "/"\n')
    assert_refused(folder.call("runs", "list"), 78, "there is no setting", "trust")


def test_an_app_of_another(folder: Folder, ran: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Named in workbell.toml it is refused. Named by --app or WORKBELL_APP its owner is trusted, but not everybody."""
    folder.write("workbell.toml", 'app = "shop:bell"\n')
    file = folder.write("shop.py", RAN.format(str(ran)) + "import helper\n" + APP)
    helper = folder.write("helper.py", "")
    word = hand_over(file)
    hand_over(helper)
    assert_refused(folder.call("runs", "list"), 78, str(file), word)
    assert f"workbell.toml: {file}: it " in folder.call("check").out
    assert not ran.exists()
    by_name = folder.call("check", "--app", "shop:bell")
    monkeypatch.setenv("WORKBELL_APP", "shop:bell")
    by_environment = folder.call("runs", "list")
    assert ran.exists() == IS_ROOT  # else it is refused because everybody can write it
    assert (by_name.code, by_environment.code) == ((0, 0) if IS_ROOT else (1, 78))


def test_a_helper_of_another(folder: Folder, ran: Path) -> None:
    folder.write("jobs/mine.py", "import helper\n" + JOB)
    file = folder.write("helper.py", RAN.format(str(ran)))
    hand_over(file)
    answer = folder.call("check")
    assert answer.code == 1
    assert f"jobs/mine.py:1: {file}: it " in answer.out
    assert not ran.exists()


def test_jobs_beside_the_project(folder: Folder, ran: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The folder above them is put on sys.path too, and others may be able to add to it."""
    above = tmp_path_factory.mktemp("above")
    above.chmod(0o1777)
    (above / "tasks").mkdir()
    (above / "tasks" / "mine.py").write_text("import colorsys_of_mine\n" + JOB)
    hidden = above / "colorsys_of_mine.py"
    hidden.write_text(RAN.format(str(ran)))
    hand_over(hidden)
    folder.write("workbell.toml", f'jobs = "{above}/tasks"\n')
    assert str(hidden) in folder.call("check").out
    assert not ran.exists()


def test_a_folder_of_jobs_that_everybody_can_write_to(folder: Folder) -> None:
    folder.write("jobs/mine.py", JOB)
    folder.write("jobs/inner/other.py", JOB)
    (folder.path / "jobs").chmod(0o777)
    answer = folder.call("check")
    assert answer.out.startswith(f"jobs/mine.py: its folder {folder.path}/jobs can be written by everybody (mode 0777)")
    assert answer.out.count("\n") == 1, "the folder in it is as it should be"
    told = folder.call("doctor")
    assert told.code == 1
    assert "trust" in told.out
    (folder.path / "jobs").chmod(0o1777)
    assert folder.call("check").code == 0
    (folder.path / "jobs").chmod(0o755)
    assert folder.call("doctor").code == 0


def test_an_agent_toml_of_another(folder: Folder) -> None:
    """The one in the current folder is found, any other is named; of those, only everybody's is refused."""
    file = folder.write("agent.toml", 'url = "https://jobs.example.com"\n')
    word = hand_over(file)
    assert_refused(folder.call("agent"), 78, word, "agent.toml")
    answer = folder.call("agent", "--config", "./agent.toml")
    assert_refused(answer, 78, "nothing to run" if IS_ROOT and word not in answer.error else "agent.t")
    take_back(file)
    assert word not in folder.call("agent").error


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder that an ordinary user has, below one that is for all."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        if IS_ROOT:
            os.chown(path, ORDINARY, ORDINARY)
        path.chmod(0o775)
        yield path


@pytest.mark.parametrize("umask", [0o002, 0o022])
def test_the_first_steps_of_an_ordinary_user(home: Path, umask: int) -> None:
    """With a group of one's own, as Debian and Fedora give it. As root, the tests become such a user for it."""
    told = walk(home, umask, ORDINARY if IS_ROOT else os.geteuid())
    assert told == ["init 0", "check 0", "jobs list 0", "runs list 0", "doctor 0"]


@pytest.mark.skipif(
    not IS_ROOT, reason="root alone can meet the files of others as root; the decision is tested for all"
)
def test_root_in_the_folder_of_a_user(home: Path) -> None:
    """As in a container with a folder of its host: refused, and the remedy that is said is one."""
    walk(home, 0o022, ORDINARY)
    (home / "workbell.db").unlink(missing_ok=True)
    assert walk(home, 0o022, 0)[1:3] == ["check 1", "jobs list 78"]
    assert walk(home, 0o022, 0, WORKBELL_TRUST=str(home))[1:3] == ["check 0", "jobs list 0"]


def walk(home: Path, umask: int, user: int, **extra: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.walk", str(home), str(umask), str(user)],
        cwd=TOP,
        env=environment(HOME=str(home), PYTHONDONTWRITEBYTECODE="1", **extra),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stderr.splitlines()[-5:]
