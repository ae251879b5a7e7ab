"""`workbell jobs`: what there is, how it went, and a run by hand (A8, A12)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from threading import Thread

import pytest

from tests.integration.conftest import Folder, lines_on_terminal
from tests.support.command_line import assert_refused
from tests.support.inside.features import clean_job
from tests.support.inside.values import Lane, NewRun, new_id
from tests.support.waiting import until
from workbell import Retry, Run, Status, Workbell
from workbell.testing import drain

APP = """
from workbell import Retry, Workbell

bell = Workbell("sqlite:///own.db")

@bell.job(cron="0 3 * * MON-FRI", timezone="Europe/Paris", queue="night")
def clean_up(days: int = 7) -> int:
    "Remove what is old."
    return days

@bell.job(retry=Retry(attempts=1))
def fail() -> None:
    raise ValueError("no such thing")
"""
HELLO = """
schedule = "@hourly"
input = {"name": "Ada"}

def run(name):
    return f"Hello {name}"
"""


@pytest.fixture
def project(folder: Folder) -> Folder:
    folder.write("workbell.toml", 'app = "shop_of_a_test:bell"\n')
    folder.write("shop_of_a_test.py", APP)
    folder.write("jobs/hello.py", HELLO)
    return folder


@contextmanager
def worker(folder: Folder) -> Iterator[None]:
    """Somebody who works in this folder meanwhile."""
    bell = Workbell(f"sqlite:///{folder.path}/own.db")
    bell.job(name="hello")(lambda name: f"Hello {name}")

    @bell.job(retry=Retry(attempts=1))
    def fail() -> None:
        raise ValueError("no such thing")

    thread = Thread(target=bell.run)
    thread.start()
    try:
        until(lambda: bell.host.running is not None, "the worker")
        yield
    finally:
        bell.shut_down()
        thread.join()
        bell.close()


def test_list_before_anything_ran(project: Folder) -> None:
    """Looking makes no store."""
    found = {job["name"]: job for job in project.ask("jobs", "list")}
    assert sorted(found) == ["clean_up", "fail", "hello"]
    assert found["hello"]["schedule"] == "@hourly"
    assert found["hello"]["file_path"] == "jobs/hello.py"
    assert found["clean_up"]["schedule"] == "0 3 * * MON-FRI"
    assert found["clean_up"]["handler"] == "shop_of_a_test:clean_up"
    assert found["fail"]["schedule"] is None
    text = project.call("jobs", "list").out
    assert "@hourly (not started yet)" in text
    assert "when asked" in text
    assert not list(project.path.glob("*.db"))


def test_the_system_s_own_job_starts_by_itself(project: Folder) -> None:
    with Workbell(f"sqlite:///{project.path}/own.db") as bell:
        bell.store.check()
        bell.store.jobs.put([clean_job(bell.tenant, bell.store.clock.now())])
    assert "by itself" in project.call("jobs", "list").out
    assert "by itself" in project.call("jobs", "show", "clean-history").out
    (line,) = [line for line in project.call("jobs", "list").out.splitlines() if line.startswith("clean-history")]
    assert re.search(r" in (60|59) min", line), line
    with Workbell(f"sqlite:///{project.path}/own.db") as bell:
        known = bell.jobs.get("clean-history")
        assert project.ask("jobs", "show", "clean-history")["next_run_at"] == written(known.created_at + HOUR)
        made = run_of("clean-history", bell.store.clock.now() + timedelta(minutes=-1))
        bell.store.runs.add([made])
        assert project.ask("jobs", "show", "clean-history")["next_run_at"] == written(made.run.created_at + HOUR)


HOUR = timedelta(hours=1)


def run_of(job: str, made_at: datetime) -> NewRun:
    return NewRun(Run(new_id(), Lane("default", "system", job), Status.QUEUED, 0, made_at, made_at, made_at))


def written(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")


LONG_NAME = "send_the_weekly_letter_to_everybody"


@pytest.mark.parametrize("what", ["jobs", "schedules"])
def test_a_list_fits_a_terminal(folder: Folder, what: str) -> None:
    """One line each; `--wide` and pipes have all of it."""
    folder.write("workbell.toml", 'url = "sqlite:///own.db"\n')
    with Workbell(f"sqlite:///{folder.path}/own.db") as bell:
        for name in (LONG_NAME, "tidy"):
            bell.job(name=name)(lambda: None)
            zone = "America/Argentina/Buenos_Aires"
            bell.schedules.put(name, job=name, cron="15,45 8-18 * * MON-FRI", timezone=zone)
        bell.store.jobs.put(bell.registry.declared_jobs(bell.store.clock, bell.tenant))
        drain(bell)
    header, *lines = lines_on_terminal(folder, what, "list", width=80)
    assert header.split()[0] == what[:-1]
    own = [line for line in lines if not line.startswith("clean-history")]
    assert [line.split()[0][:10] for line in own] == ["send_the_w", "tidy"]
    assert max(map(len, lines)) <= 80
    assert "in " in own[0], "the next run"
    assert header.split()[-1] in ("where", "last")
    for text in (
        folder.call(what, "list").out,
        "".join(lines_on_terminal(folder, what, "list", "--wide", width=80)),
    ):
        assert LONG_NAME in text
        assert "America/Argentina/Buenos_Aires" in text


def test_a_broken_file_is_mentioned(project: Folder) -> None:
    project.write("jobs/broken.py", "schedule = 1\n")
    answer = project.call("jobs", "list")
    assert answer.code == 0
    assert "hello" in answer.out
    assert answer.error == "Left out for their problems: jobs/broken.py; `workbell check` lists them.\n"


def test_show(project: Folder) -> None:
    text = project.call("jobs", "show", "clean_up").out
    assert "about    Remove what is old." in text
    assert "queue    night" in text
    retry = project.ask("jobs", "show", "hello")["retry"]
    assert (retry["delay"], retry["factor"], retry["jitter"]) == (5, 1, 0)
    assert_refused(project.call("jobs", "show", "helo"), 4, "'helo'", "clean_up, fail, hello")


def test_show_says_what_the_input_is(project: Folder) -> None:
    """The names, types and defaults of the arguments, so that one can write --input."""
    assert "input    days: int = 7\n" in project.call("jobs", "show", "clean_up").out
    assert "input    none\n" in project.call("jobs", "show", "fail").out
    assert "input    name\n" in project.call("jobs", "show", "hello").out
    schema = project.ask("jobs", "show", "clean_up")["input_schema"]
    assert schema["properties"] == {"days": {"type": "integer", "default": 7}}


def test_options_of_a_run(project: Folder) -> None:
    """B1: what `options(…)` takes, for one run by hand."""
    asked = [
        "--queue",
        "mail",
        "--priority",
        "7",
        "--key",
        "ada",
        "--tag",
        "t1",
        "--target",
        "label:gpu",
        "--delay",
        "1h",
    ]
    run = project.ask("jobs", "run", "hello", *asked)
    told = {word: run[word] for word in ("queue", "priority", "key", "tag", "target")}
    assert told == {"queue": "mail", "priority": 7, "key": "ada", "tag": "t1", "target": "label:gpu"}
    assert run["status"] == "scheduled"
    assert project.ask("jobs", "run", "hello", *asked)["id"] == run["id"], "the key is taken"


def test_a_run_without_a_worker_waits(project: Folder) -> None:
    answer = project.call("jobs", "run", "hello")
    assert answer.code == 0, answer
    assert "of hello: queued" in answer.out
    assert "No worker is running; start one: `workbell start`." in answer.out
    (run,) = Workbell(f"sqlite:///{project.path}/own.db").runs(job="hello")
    assert run.input == {"name": "Ada"}, "without --input it gets what its schedule would give it"


def test_a_run_with_a_worker(project: Folder) -> None:
    with worker(project):
        answer = project.call("jobs", "run", "hello", "--wait", "--input", '{"name": "Eve"}')
        assert answer.code == 0, answer
        assert "of hello: succeeded\nHello Eve\n" in answer.out
        assert "Hello Ada" in project.call("jobs", "run", "hello").out
    assert project.ask("jobs", "show", "hello")["last_status"] == "succeeded"


def test_runs(project: Folder) -> None:
    """A8: run_id, started_at, ended_at, status, error, attempt; newest first."""
    assert project.call("jobs", "runs", "fail").out == "No run of fail has ended yet.\n"
    with worker(project):
        project.call("jobs", "run", "hello", "--wait")
        failed = project.call("jobs", "run", "fail", "--wait", "--json")
    assert failed.code == 1, "whoever waits learns that it failed"
    (run,) = project.ask("jobs", "runs", "fail", "-n", "5")
    assert run.keys() == {"run_id", "started_at", "ended_at", "status", "error", "attempt"}
    assert (run["run_id"], run["status"], run["attempt"]) == (json.loads(failed.out)["id"], "failed", 1)
    assert run["error"].startswith("ValueError: no such thing\n")
    assert datetime.fromisoformat(run["ended_at"]) >= datetime.fromisoformat(run["started_at"])
    text = project.call("jobs", "runs", "fail").out
    assert f"#1 {run['run_id']} ValueError: no such thing\n" in text
    assert "completed" in project.call("jobs", "runs", "hello").out
    assert_refused(project.call("jobs", "runs", "nobody"), 4, "'nobody'")


def test_wait_no_longer_than_this(project: Folder) -> None:
    assert_refused(project.call("jobs", "run", "hello", "--wait", "--json", "--timeout", "0.1s"), 3, "0.1 s")


@pytest.mark.parametrize("data", ["{", "[1]", "nonsense"])
def test_input_that_is_no_object(data: str, project: Folder) -> None:
    answer = project.call("jobs", "run", "hello", "--input", data)
    assert answer.code == 2
    assert '{"to": "a@b.c"}' in answer.error


def test_input_that_does_not_fit(project: Folder) -> None:
    """Checked against the signature before anything is written."""
    assert_refused(project.call("jobs", "run", "hello", "--input", '{"nam": "Eve"}'), 1, "hello", "nam")
    assert_refused(project.call("jobs", "run", "nobody"), 4, "'nobody'")


def test_later(project: Folder) -> None:
    answer = project.call("jobs", "run", "hello", "--delay", "1h30m")
    assert "of hello: scheduled" in answer.out
    assert "It is due in 90 min" in answer.out


def test_a_paused_job_is_marked(project: Folder) -> None:
    project.call("jobs", "pause", "hello")
    project.call("queues", "pause", "eu")  # of another queue: the job itself is not paused
    assert "hello paused" in project.call("jobs", "list").out
    assert "fail paused" not in project.call("jobs", "list").out
    assert "paused   since " in project.call("jobs", "show", "hello").out
    assert [(job["name"], job["paused"]) for job in project.ask("jobs", "list") if job["paused"]] == [("hello", True)]
    project.call("jobs", "resume", "hello")
    assert "paused" not in project.call("jobs", "list").out
    assert "paused" not in project.call("jobs", "show", "hello").out


OPTION_FACTS = (
    "target label:gpu",
    "tag z",
    "replace tag a new run cancels those of its tag that have not started",
    "user id ada",
    "persistent no",
    "auto reschedule 10 min after a failure",
    "remove delay 1 h after the end",
    "expires 1 min 30 s after it is due",
)


class TestDefinitions:
    """D2: jobs as data, by hand."""

    PUT = ("jobs", "put", "hello-eu", "--handler", "hello", "--input", '{"name": "Europe"}')

    def test_the_life_of_one(self, project: Folder) -> None:
        made = project.call(*self.PUT, "--queue", "eu", "--attempts", "5", "--timeout", "30s", "--json")
        found = json.loads(made.out)
        assert (found["name"], found["source"], found["handler"], found["version"]) == ("hello-eu", "api", "hello", 1)
        assert (found["input"], found["queue"], found["timeout"]) == ({"name": "Europe"}, "eu", 30.0)
        assert found["retry"]["attempts"] == 5
        again = json.loads(project.call(*self.PUT, "--rate", "9/m", "--json").out)
        assert (again["id"], again["created_at"], again["version"]) == (found["id"], found["created_at"], 2)
        assert (again["queue"], again["timeout"], again["rate"]) == ("default", None, "9/m")
        shown = project.call("jobs", "show", "hello-eu").out
        for word in (found["id"], "code of hello", '{"name":"Europe"}', "enabled", "9"):
            assert word in shown
        assert "code of hello" in project.call("jobs", "list").out
        run = json.loads(project.call("jobs", "run", "hello-eu", "--json").out)
        assert (run["job"], run["input"]) == ("hello-eu", {"name": "Europe"})
        assert project.call("jobs", "disable", "hello-eu").out.startswith("hello-eu is disabled")
        assert_refused(project.call("jobs", "run", "hello-eu"), 1, "hello-eu: it is disabled")
        assert "hello-eu disabled" in project.call("jobs", "list").out
        assert project.call("jobs", "enable", "hello-eu").out == "hello-eu is enabled: it runs the code of hello.\n"
        assert project.call("jobs", "remove", "hello-eu", typed="n\n").code == 130
        assert project.call("jobs", "remove", "hello-eu", "--yes").out == "hello-eu is removed.\n"
        assert_refused(project.call("jobs", "remove", "hello-eu", "--yes"), 4, "There is no job 'hello-eu'")
        actions = [entry["action"] for entry in project.ask("audit")]
        assert [action for action in actions if action.startswith("jobs.")] == [
            "jobs.delete",
            "jobs.enable",
            "jobs.disable",
            "jobs.put",
            "jobs.put",
        ]

    def test_update_changes_what_is_given(self, project: Folder) -> None:
        project.call(*self.PUT, "--tag", "z", "--rate", "9/m", "--attempts", "5", "--retry-delay", "3s")
        made = project.ask("jobs", "show", "hello-eu")
        answer = project.call("jobs", "update", "hello-eu", "--timeout", "9s", "--attempts", "2")
        assert (answer.code, answer.out) == (0, "hello-eu: runs the code of hello.\n")
        found = project.ask("jobs", "show", "hello-eu")
        assert {word for word in found if found[word] != made[word]} == {"timeout", "retry", "version", "updated_at"}
        assert (found["timeout"], found["retry"]["attempts"], found["retry"]["delay"]) == (9.0, 2, 3.0)
        back = ("--default", "rate", "--default", "retry", "--default", "input", "--disabled")
        found = json.loads(project.call("jobs", "update", "hello-eu", *back, "--handler", "clean_up", "--json").out)
        assert (found["rate"], found["retry"], found["input"], found["enabled"]) == (None, None, None, False)
        assert (found["handler"], found["tag"], found["timeout"]) == ("clean_up", "z", 9.0)
        entry = project.ask("audit")[0]
        changed = ["enabled", "handler", "input", "rate", "retry"]
        assert (entry["action"], entry["subject"], entry["detail"]["changed"]) == ("jobs.change", "hello-eu", changed)

    def test_what_update_refuses(self, project: Folder) -> None:
        project.call(*self.PUT)
        before = project.ask("jobs", "show", "hello-eu")
        for wrong, said in (
            ((), "Say what to change"),
            (("--tag", "x", "--default", "tag"), "--default tag and another value of it say two things"),
            (("--attempts", "2", "--default", "retry"), "--default retry and another value of it say two things"),
        ):
            answer = project.call("jobs", "update", "hello-eu", *wrong)
            assert (answer.code, said in answer.error) == (2, True)
        assert_refused(project.call("jobs", "update", "hello", "--tag", "x"), 1, "code declares it")
        assert_refused(project.call("jobs", "update", "nobody", "--tag", "x"), 4, "There is no job 'nobody'")
        wrong = project.call("jobs", "update", "hello-eu", "--input", '{"colour": 1}')
        assert_refused(wrong, 1, "its handler has no argument 'colour'")
        assert project.ask("jobs", "show", "hello-eu") == before

    def test_show_says_what_is_set(self, project: Folder) -> None:
        project.call(
            *self.PUT,
            *("--tag", "z", "--replace-tag", "--user-id", "ada", "--target", "label:gpu", "--no-persistent"),
            *("--auto-reschedule", "10m", "--remove-delay", "1h", "--expires", "90s"),
        )
        said = " ".join(project.call("jobs", "show", "hello-eu").out.split())
        for fact in OPTION_FACTS:
            assert fact in said
        plain = project.call("jobs", "show", "hello").out
        assert not [name for name in ("tag", "user", "target", "persistent", "reschedule", "delay") if name in plain]

    def test_what_is_missing_is_said(self, project: Folder) -> None:
        made = project.call("jobs", "put", "later-eu", "--handler", "later")
        assert made.out == "later-eu: runs the code of later.\n"
        assert "Its runs will wait. Its handler is job 'later'. No worker is running" in made.error
        assert "No code is known that declares later; known are clean_up, fail, hello." in made.error
        found = project.call("doctor").out
        assert "later-eu: its handler later is a job that no worker has declared yet" in found.replace("\n", " ")

    def test_what_is_refused(self, project: Folder) -> None:
        assert_refused(project.call("jobs", "put", "hello", "--handler", "fail"), 1, "job hello: code declares a job")
        wrong = project.call("jobs", "put", "hello-eu", "--handler", "hello", "--input", '{"colour": 1}')
        assert_refused(wrong, 1, "its handler has no argument 'colour'; the arguments are name")
        assert_refused(project.call("jobs", "disable", "hello"), 1, "code declares it", "`workbell jobs pause hello`")
        project.call(*self.PUT)
        project.call("schedules", "add", "nightly", "--job", "hello-eu", "--cron", "0 3 * * *")
        assert_refused(project.call("jobs", "remove", "hello-eu", "--yes"), 1, "schedule nightly would still start it")
