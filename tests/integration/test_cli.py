"""The command line as a whole: help, options, exit codes, and one clear line for whatever goes wrong."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

from tests.support.command_line import assert_refused, call, command, environment
from tests.support.inside.cli import COMMANDS, agents, events, jobs, queues, schedules, triggers, webhooks
from tests.support.inside.cli import workbell_command as workbell
from tests.support.inside.stores import NEWEST
from workbell import Workbell, __version__

HEAVY = tuple("psycopg rich httpx2 starlette fastapi uvicorn websockets watchfiles sqlalchemy redis".split())


@pytest.mark.parametrize(
    ("arguments", "listed"),
    [
        ([], COMMANDS),
        (["jobs"], jobs.COMMANDS),
        (["queues"], queues.COMMANDS),
        (["schedules"], schedules.COMMANDS),
        (["webhooks"], webhooks.COMMANDS),
    ],
)
def test_help_is_light(arguments: list[str], listed: Iterable[str], tmp_path: Path) -> None:
    """`workbell --help` loads neither the database drivers nor the web nor what draws tables or watches files."""
    script = (
        f"import sys; sys.argv = ['workbell', *{arguments!r}, '--help']\n"
        "from workbell.cli.main import run\n"
        "code = run()\n"
        f"print('loaded', [name for name in {HEAVY!r} if name in sys.modules], code, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stderr == "loaded [] 0\n"
    assert all(name in done.stdout for name in listed)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_of_its_own(name: str) -> None:
    answer = CliRunner().invoke(workbell, [name, "--help"])
    assert answer.exit_code == 0
    assert COMMANDS[name] in " ".join(answer.output.split())


@pytest.mark.parametrize(
    "group",
    [agents, jobs, queues, schedules, events, triggers, webhooks],
    ids=["agents", "jobs", "queues", "schedules", "events", "triggers", "webhooks"],
)
def test_every_command_of_a_group_has_help_of_its_own(group: ModuleType) -> None:
    for name, lazy in group.COMMANDS.items():
        answer = CliRunner().invoke(workbell, [group.__name__.rpartition(".")[2], name, "--help"])
        assert answer.exit_code == 0
        assert lazy.text in " ".join(answer.output.split())


def test_version(tmp_path: Path) -> None:
    assert call(tmp_path, "--version").out == f"workbell {__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [["nonsense"], ["jobs", "nonsense"], ["doctor", "--nonsense"], ["copy"], ["runs", "list", "--limit", "many"]],
)
def test_wrong_usage_ends_with_2(arguments: list[str], tmp_path: Path) -> None:
    answer = call(tmp_path, *arguments)
    assert answer.code == 2
    assert "Traceback" not in answer.error
    assert "Error:" in answer.error


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("nonsense", ["'nonsense'", "sqlite:///file.db"]),
        ("mysql://host/database", ["'mysql'", "postgresql://host/database"]),
        ("sqlite://file.db", ["sqlite:///file.db"]),
        ("postgresql://host/x?nonsense=1", ["postgresql://user:password@host:5432/database"]),
    ],
)
def test_malformed_url(url: str, words: list[str], tmp_path: Path) -> None:
    assert_refused(call(tmp_path, "migrate", "--url", url), 78, *words)


def test_setting_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "workbell.toml").write_text("concurrency = 0\n")
    assert_refused(call(tmp_path, "doctor"), 78, "concurrency = 0")


@pytest.mark.parametrize("name", ["doctor", "migrate", "copy --to sqlite:///b.db"])
def test_unreachable_database(name: str, tmp_path: Path) -> None:
    answer = call(tmp_path, *name.split(), "--url", "postgresql://nobody:secret@127.0.0.1:1/nothing")
    assert_refused(answer, 69, "127.0.0.1", "refused")
    assert "secret" not in answer.out + answer.error


def test_folder_that_is_not_there(tmp_path: Path) -> None:
    assert_refused(call(tmp_path, "migrate", "--url", "sqlite:///no/such/folder.db"), 69, "does not exist")


def test_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("Dear diary, this is not a database at all.\n" * 100)
    assert_refused(call(tmp_path, "migrate", "--url", "sqlite:///notes.txt"), 1, "not a database")


@pytest.mark.parametrize("name", ["doctor", "migrate"])
def test_newer_schema(name: str, tmp_path: Path) -> None:
    Workbell(f"sqlite:///{tmp_path}/new.db").store.check()
    with sqlite3.connect(tmp_path / "new.db") as connection:
        connection.execute("UPDATE workbell_meta SET value = '99' WHERE name IN ('schema_version', 'oldest_reader')")
    assert_refused(call(tmp_path, name, "--url", "sqlite:///new.db"), 78, "99", "pip install --upgrade workbell")


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_a_reader_that_has_seen_enough_is_no_failure(form: list[str], tmp_path: Path) -> None:
    with Workbell(f"sqlite:///{tmp_path}/workbell.db") as bell:

        @bell.job
        def note(text: str) -> None: ...

        bell.enqueue_many([note.request("x" * 500) for _ in range(1000)])  # more than a pipe holds
    listed = command("runs", "list", "--limit", "1000", *form)
    with subprocess.Popen(listed, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.read(1)
        process.stdout.close()
        assert process.wait(60) == 0


def test_interrupted(tmp_path: Path) -> None:
    """Ctrl-C ends with 130, in one line."""
    (tmp_path / "shop.py").write_text(
        "from workbell import Workbell\nbell = Workbell('sqlite:///shop.db')\n@bell.job\ndef greet(): ...\n"
    )
    waits = subprocess.Popen(
        command("jobs", "run", "greet", "--wait", "--app", "shop:bell"),
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert waits.stderr is not None
        assert "waiting for its end" in waits.stderr.readline()
        waits.send_signal(signal.SIGINT)
        _, error = waits.communicate(timeout=60)
    finally:
        waits.kill()
    assert waits.returncode == 130
    assert error.strip() == "workbell: interrupted."  # on a terminal, the line of ^C is ended first


class TestMigrate:
    def test_applies_what_is_missing_and_then_nothing(self, tmp_path: Path) -> None:
        first = call(tmp_path, "migrate", "--url", "sqlite:///a.db")
        assert first.code == 0
        assert "applied 0001_initial" in first.out
        assert "nothing to do" in call(tmp_path, "migrate", "--url", "sqlite:///a.db").out
        told = json.loads(call(tmp_path, "migrate", "--url", "sqlite:///a.db", "--json").out)
        assert told == {"store": "sqlite:///a.db", "schema_version": NEWEST, "applied": []}

    def test_on_postgres(self, empty_postgres_url: str, tmp_path: Path) -> None:
        assert "applied 0001_initial" in call(tmp_path, "migrate", WORKBELL_URL=empty_postgres_url).out
        assert "nothing to do" in call(tmp_path, "migrate", WORKBELL_URL=empty_postgres_url).out

    def test_dumped_sql_makes_a_store(self, tmp_path: Path) -> None:
        sql = call(tmp_path, "migrate", "--dump-sql", "--url", "sqlite:///a.db").out
        assert not (tmp_path / "a.db").exists()
        with sqlite3.connect(tmp_path / "a.db") as connection:
            connection.executescript(sql)
        assert "nothing to do" in call(tmp_path, "migrate", "--url", "sqlite:///a.db").out

    def test_dump_of_another_engine(self, tmp_path: Path) -> None:
        assert "timestamptz" in call(tmp_path, "migrate", "--dump-sql", "--engine", "postgres").out
        assert call(tmp_path, "migrate", "--engine", "postgres").code == 2


class TestDoctor:
    def test_looks_without_touching(self, tmp_path: Path) -> None:
        answer = call(tmp_path, "doctor", "--url", "sqlite:///none.db")
        assert answer.code == 0
        assert "not there yet" in answer.out
        assert not list(tmp_path.iterdir())

    def test_a_healthy_store(self, sql_store_url: str, tmp_path: Path) -> None:
        with Workbell(sql_store_url) as bell:
            bell.store.check()
        answer = call(tmp_path, "doctor", "--json", WORKBELL_URL=sql_store_url)
        told = json.loads(answer.out)
        assert answer.code == 0, answer
        assert told["healthy"] is True
        assert told["schema_version"] == NEWEST
        assert told["counts"] == {"scheduled": 0, "queued": 0, "running": 0}
        assert abs(told["clock_difference_ms"]) < 60_000

    def test_runs_that_nobody_can_take(self, tmp_path: Path) -> None:
        """A lane whose job no living worker knows is a risk; a paused one is worth a note."""
        with Workbell(f"sqlite:///{tmp_path}/a.db") as bell:
            known = bell.job(name="known")(lambda: None)
            bell.store.check()
            bell.store.jobs.put(bell.registry.declared_jobs(bell.store.clock, bell.tenant))
            known.enqueue()
            bell.pause(job="known")
            bell.job(name="unknown")(lambda: None).enqueue()
        answer = call(tmp_path, "doctor", "--url", "sqlite:///a.db", "--json")
        told = {finding["what"]: finding for finding in json.loads(answer.out)["findings"]}
        assert answer.code == 1
        assert told["unserved"]["level"] == "risk"
        assert "job unknown: 1 queued run, and nobody takes them. No worker is running" in told["unserved"]["text"]
        assert told["paused"]["level"] == "note"
        assert "job known: 1 queued" in told["paused"]["text"]
        assert "1 at risk" in call(tmp_path, "doctor", "--url", "sqlite:///a.db").out

    def test_the_url_may_stand_in_the_app_alone(self, tmp_path: Path) -> None:
        (tmp_path / "site_app.py").write_text("from workbell import Workbell\nbell = Workbell('sqlite:///own.db')\n")
        (tmp_path / "workbell.toml").write_text('app = "site_app:bell"\n')
        assert "own.db" in call(tmp_path, "doctor").out


def test_a_server_has_no_options_about_workers() -> None:
    told = CliRunner().invoke(workbell, ["server", "--help"]).output
    assert "--port" in told
    assert not [option for option in ("--concurrency", "--queues", "--max-runs", "--max-memory") if option in told]
