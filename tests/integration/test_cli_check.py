"""`workbell check`: every problem of every file at once, with line numbers."""

from __future__ import annotations

from tests.integration.conftest import Folder

GOOD = 'schedule = "@hourly"\n\ndef run(): ...\n'


def test_every_problem_at_once(folder: Folder) -> None:
    """A2, A4: job files, the app and workbell.toml; sorted, path and line first, exit code 1."""
    folder.write("workbell.toml", 'app = "shop:bell"\n')
    folder.write("shop.py", "from workbell import Workbell\nbell = Workbell()\nbell.nonsense()\n")
    folder.write("jobs/a.py", '\nschedule = "61 * * * *"\n')
    folder.write("jobs/b/good.py", GOOD)
    folder.write("jobs/c.py", "schedule = (\n")
    folder.write("jobs/twice.py", GOOD)
    folder.write("jobs/b/twice.py", GOOD)
    answer = folder.call("check")
    assert answer.code == 1
    lines = answer.out.splitlines()
    assert lines == sorted(lines)
    assert [line.partition(": ")[0] for line in lines] == [
        "jobs/a.py",
        "jobs/a.py:2",
        "jobs/b/twice.py",
        "jobs/c.py:1",
        "jobs/twice.py",
        "shop.py:3",
    ]
    assert "61" in lines[1]
    assert "jobs/twice.py" in lines[2]
    assert answer.error == "6 problems in 5 files.\n"
    told = folder.call("check", "--json")
    assert told.code == 1
    assert '"path": "shop.py",\n      "line": 3' in told.out
    assert not list(folder.path.glob("*.db*")), "the store is not touched"


def test_in_order(folder: Folder) -> None:
    assert folder.call("check").out == "There are no job files here; `workbell init` writes a first one.\n"
    folder.write("jobs/one.py", GOOD)
    folder.write("jobs/two.py", GOOD)
    folder.write("jobs/_helper.py", "nothing = 1\n")
    assert folder.call("check") == (0, "2 job files are in order.\n", "")
    assert folder.ask("check") == {"app": None, "jobs": 0, "schedules": 0, "files": 2, "problems": []}


def test_an_app_in_order_is_named(folder: Folder) -> None:
    """It says what was checked: the app with its jobs and schedules, and the job files."""
    text = "from workbell import Workbell\nbell = Workbell()\n@bell.job(cron='0 3 * * *')\ndef tidy(): ...\n"
    folder.write("shop.py", text + "@bell.job\ndef send(): ...\n")
    none = "There are no job files in jobs/.\n"
    said = "The app shop:bell is in order: 2 jobs, 1 schedule."
    assert folder.call("check", "--app", "shop:bell") == (0, f"{said}\n{none}", "")
    told = {"app": "shop:bell", "jobs": 2, "schedules": 1, "files": 0, "problems": []}
    assert folder.ask("check", "--app", "shop:bell") == told
    folder.write("jobs/one.py", GOOD)
    assert folder.call("check", "--app", "shop:bell") == (0, f"{said}\n1 job file is in order.\n", "")


def test_a_broken_workbell_toml_does_not_hide_the_rest(folder: Folder) -> None:
    folder.write("workbell.toml", "jobs = 'jobs'\nconcurrency = \n")
    folder.write("jobs/a.py", "schedule = 5\ndef run(): ...\n")
    lines = folder.call("check").out.splitlines()
    assert lines[0].startswith("jobs/a.py:1: ")
    assert lines[1].startswith("workbell.toml:2: ")


def test_a_bad_schedule_in_the_code(folder: Folder) -> None:
    """A job of the app has its cron checked where it is declared."""
    text = "from workbell import Workbell\nbell = Workbell()\n@bell.job(cron='* * *')\ndef send(): ...\n"
    folder.write("code.py", text)
    folder.write("bells.py", text)
    answer = folder.call("check", "--app", "bells:bell")
    assert answer.code == 1
    assert answer.out.startswith("bells.py:")
    assert "3 fields" in answer.out


def test_a_name_that_the_code_has_taken(folder: Folder) -> None:
    folder.write("own.py", "from workbell import Workbell\nbell = Workbell()\n@bell.job\ndef send(): ...\n")
    folder.write("jobs/send.py", GOOD)
    answer = folder.call("check", "--app", "own:bell")
    assert answer.code == 1
    assert "jobs/send.py: the job 'send' is declared by own:send already" in answer.out


def test_a_database_that_cannot_be_used(folder: Folder) -> None:
    """A3: what a start would refuse."""
    folder.write("jobs/a.py", GOOD)
    for database, words in (("sqlite:///workbell.db", "the store's own file"), ("mine.db", "cannot be read")):
        folder.write("workbell.toml", f'database = "{database}"\n')
        answer = folder.call("check")
        assert (answer.code, answer.error) == (1, "1 problem in 1 file.\n")
        assert answer.out.startswith("workbell.toml: database = ")
        assert words in answer.out
        assert not list(folder.path.glob("*.db*")), "the store is not touched"
