"""`workbell schedules`: added, seen, steered, previewed and accounted for (E1, F2, F3)."""

from __future__ import annotations

import re
import sqlite3
from datetime import timedelta
from typing import Any

import pytest

from tests.integration.conftest import Folder
from tests.support.command_line import assert_refused
from tests.support.inside.features import Materialise
from tests.support.inside.stores import SqliteFiles
from tests.support.retry_policies import POLICIES
from workbell import Retry, Workbell

ADD = ("schedules", "add", "nightly", "--job", "send")


@pytest.fixture
def project(folder: Folder, sqlite_files: SqliteFiles) -> Folder:
    sqlite_files.make(folder.path / "workbell.db")
    folder.write("workbell.toml", 'timezone = "Europe/Paris"\n')
    folder.write("jobs/send.py", 'schedule = "@hourly"\ndef run(to="all"): ...\n')
    return folder


def open_bell(folder: Folder) -> Workbell:
    return Workbell(f"sqlite:///{folder.path}/workbell.db")


def test_a_cap_that_would_do_nothing_is_refused(project: Folder) -> None:
    """Retries of a schedule wait equally long by themselves."""
    add = (*ADD, "--cron", "@daily")
    answer = project.call(*add, "--retry-cap", "10m")
    assert (answer.code, "--retry-cap does nothing" in answer.error) == (2, True)
    assert project.ask(*add, "--retry-cap", "1s")["retry"]["cap"] == 1
    told = project.ask("schedules", "update", "nightly", "--retry-cap", "10m", "--retry-factor", "2")
    assert (told["retry"]["cap"], told["retry"].get("factor", 2)) == (600, 2)


@pytest.mark.parametrize(("policy", "meant"), [one for one in POLICIES if one[0]], ids=str)
def test_each_option_about_retries_is_optional(project: Folder, policy: dict[str, Any], meant: Retry) -> None:
    """E3: what is left out has the same default as over HTTP and in Python."""
    options = {"max_retries": ("--attempts", "5"), "backoff_ms": ("--retry-delay", "0.5s")}
    options["backoff_type"] = ("--retry-factor", "2")
    project.ask(*ADD, "--cron", "@daily", *(part for word in policy for part in options[word]))
    with open_bell(project) as bell:
        assert bell.schedules.get("nightly").options.retry == meant


def test_everything_that_can_be_said(project: Folder) -> None:
    """E1, E3, F3: each option arrives in the store."""
    told = project.ask(
        *(*ADD, "--cron", "0 3 * * *", "--timezone", "America/New_York", "--input", '{"to": "x"}'),
        *("--queue", "mail", "--priority", "5", "--window", "02:00-06:00", "--outside", "skip"),
        *("--overlap", "queue_one", "--catch-up", "all", "--catch-up-cap", "3", "--jitter", "1m30s"),
        *("--attempts", "5", "--retry-delay", "0.5s", "--retry-factor", "2", "--timeout", "30"),
        *("--target", "agent-7", "--description", "The report", "--created-by", "Ada"),
        *("--alert-url", "https://hooks.slack.com/secret", "--ping-url", "https://hc-ping.com/secret"),
    )
    wanted = {
        "alert_url": "https://hooks.slack.com/…",
        "ping_url": "https://hc-ping.com/…",
        "name": "nightly",
        "job": "send",
        "kind": "cron",
        "expression": "0 3 * * *",
        "timezone": "America/New_York",
        "input": {"to": "x"},
        "queue": "mail",
        "priority": 5,
        "window": ["02:00", "06:00"],
        "outside": "skip",
        "overlap": "queue_one",
        "catch_up": "all",
        "catch_up_cap": 3,
        "jitter": 90.0,
        "timeout": 30.0,
        "target": "agent-7",
        "description": "The report",
        "created_by": "Ada",
        "enabled": True,
        "in_words": "at 03:00, every day, America/New_York; runs start 02:00–06:00",
    }
    assert wanted.items() <= told.items()
    assert told["retry"]["attempts"] == 5
    assert told["next_run_at"].endswith("Z")
    assert project.ask("schedules", "show", "nightly") == told
    text = project.call("schedules", "show", "nightly").out
    assert "persistent" not in text, "options that are not set are left out"
    project.call("schedules", "update", "nightly", "--tag", "z", "--no-persistent", "--remove-delay", "90m")
    said = " ".join(project.call("schedules", "show", "nightly").out.split())
    assert all(fact in said for fact in ("tag z", "persistent no", "remove delay 1 h 30 min after the end")), said
    for part in ("5 attempts", "agent-7", "The report", "by hand", "all, at most 3"):
        assert part in text, text


def test_what_is_given_changes_and_the_rest_stays(project: Folder) -> None:
    """E1: word by word, also what is not shown in full."""
    before = project.ask(
        *(*ADD, "--cron", "0 3 * * *", "--input", '{"to": "x"}', "--window", "02:00-06:00", "--created-by", "Ada"),
        *("--attempts", "5", "--retry-delay", "0.5s", "--tag", "t", "--alert-url", "https://hooks.slack.com/secret"),
    )
    with open_bell(project) as bell:
        url = bell.schedules.get("nightly").options.alert_url
    update = ("schedules", "update", "nightly")
    others = ("--retry-factor", "2", "--default", "tag", "--disable")
    assert project.ask(*update, "--default", "input")["input"] == {}
    assert project.ask(*update, "--input", '{"to": "x"}')["input"] == {"to": "x"}
    told = project.ask(*update, "--cron", "30 4 * * *", *others)
    by_itself = {"in_words", "reason", "updated_at", "next_run_at", "last_scheduled_at", "retry_policy"}
    changed = {word for word in told if told[word] != before[word]}
    assert changed - by_itself == {"expression", "retry", "tag", "enabled"}
    assert (told["expression"], told["tag"], told["enabled"]) == ("30 4 * * *", None, False)
    assert told["retry_policy"] == {"max_retries": 4, "backoff_ms": 500, "backoff_type": "exponential"}
    with open_bell(project) as bell:
        assert bell.schedules.get("nightly").options.alert_url == url == "https://hooks.slack.com/secret"
    assert "at 04:30" in project.call(*update, "--enable").out
    for options, words in (
        ([], "Say what to change"),
        (["--cron", "* * * * *", "--every", "5"], "got --cron and --every"),
        (["--tag", "x", "--default", "tag"], "say two things"),
    ):
        answer = project.call(*update, *options)
        assert (answer.code, words in answer.error) == (2, True), answer
    answer = project.call("schedules", "update", "nobody", "--tag", "x")
    assert (answer.code, "`workbell schedules list`" in answer.error) == (4, True), answer


@pytest.mark.parametrize(
    ("options", "kind", "expression"),
    [
        (["--every", "90"], "interval", "1m30s from "),
        (["--every", "5m", "--anchor", "2026-01-01T00:00:00Z"], "interval", "5m from 2026-01-01T00:00:00Z"),
        (["--at", "2090-01-01T00:00:00+01:00"], "once", "2089-12-31T23:00:00Z"),
    ],
)
def test_other_kinds(options: list[str], kind: str, expression: str, project: Folder) -> None:
    told = project.ask(*ADD, *options)
    assert told["kind"] == kind
    assert told["expression"].startswith(expression)
    assert told["timezone"] == "Europe/Paris"


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ([], 2, "exactly one of --cron, --every and --at; got none"),
        (["--cron", "@daily", "--every", "5m"], 2, "got --cron and --every"),
        (["--cron", "@daily", "--anchor", "2026-01-01T00:00:00Z"], 2, "--anchor goes with --every"),
        (["--every", "soon"], 2, "30s, 5m, 1h30m"),
        (["--at", "2026-01-01T00:00:00"], 2, "is not a time with a zone"),
        (["--cron", "@daily", "--window", "night"], 2, "02:00-06:00"),
        (["--cron", "@daily", "--window", "2-6"], 78, "HH:MM"),
        (["--cron", "@daily", "--overlap", "pile_up"], 2, "'queue_one'"),
        (["--cron", "@daily", "--input", '{"nobody": 1}'], 1, "nobody"),
        (["--cron", "0 0 30 2 *"], 78, "schedule nightly: cron"),
        (["--cron", "@daily", "--timezone", "Europe/Pari"], 78, "did you mean 'Europe/Paris'?"),
    ],
)
def test_what_cannot_be_added(options: list[str], code: int, words: str, project: Folder) -> None:
    answer = project.call(*ADD, *options)
    assert answer.code == code, answer
    assert words in answer.error
    assert project.ask("schedules", "list") == []


def test_a_name_is_taken_once(project: Folder) -> None:
    project.ask(*ADD, "--cron", "@daily")
    assert_refused(project.call(*ADD, "--cron", "@weekly"), 1, "'nightly'", "--replace")
    assert project.ask(*ADD, "--cron", "@weekly", "--replace")["expression"] == "@weekly"
    assert_refused(project.call("schedules", "add", "x", "--job", "nobody", "--cron", "@daily"), 4, "'nobody'")


def test_what_a_file_declares_is_not_changed_by_hand(project: Folder) -> None:
    with Workbell() as bell:
        bell.engine.start()
    answer = project.call("schedules", "add", "send", "--job", "send", "--cron", "@daily", "--replace")
    assert_refused(answer, 1, "'send'", "by a job file of", "change it there")
    assert "comes back with the next start" in project.call("schedules", "remove", "send", "--yes").error


def test_pause_resume_remove(project: Folder) -> None:
    project.ask(*ADD, "--cron", "@daily")
    assert project.ask("schedules", "pause", "nightly")["paused"] is True
    assert "paused" in project.call("schedules", "list").out
    assert "goes on; next in" in project.call("schedules", "resume", "nightly").out
    asked = project.call("schedules", "remove", "nightly", typed="n\n")
    assert asked.code == 130
    assert "Remove the schedule nightly?" in asked.error
    assert project.call("schedules", "remove", "nightly", typed="y\n").code == 0
    assert_refused(project.call("schedules", "show", "nightly"), 4, "'nightly'", "`workbell schedules list`")
    for verb in ("pause", "resume", "ticks", "preview"):
        assert_refused(project.call("schedules", verb, "nightly"), 4, "'nightly'")


def test_looking_makes_no_store(project: Folder) -> None:
    (project.path / "workbell.db").unlink()
    assert "no schedules yet" in project.call("schedules", "list").out
    assert_refused(project.call("schedules", "pause", "nightly"), 4, "'nightly'")
    assert not list(project.path.glob("*.db*"))


def test_off_and_broken_ones_are_shown_with_the_reason(project: Folder) -> None:
    """E5: what is broken in the store is shown as broken."""
    project.ask(*ADD, "--cron", "@daily")
    with Workbell() as bell:
        bell.engine.start()
        (project.path / "jobs" / "send.py").unlink()
        bell.engine.reload()
    with sqlite3.connect(project.path / "workbell.db") as connection:
        connection.execute(
            "UPDATE workbell_schedules SET expression = 'nonsense', last_fire_status = 'scheduler_failed', "
            "last_error = 'cron nonsense: write five fields.' WHERE name = 'nightly'"
        )
    text = project.call("schedules", "list").out
    assert "its job file is gone" in text
    assert "its stored `expression` cannot be read" in text
    told = {schedule["name"]: schedule for schedule in project.ask("schedules", "list")}
    assert told["nightly"]["last_fire_status"] == "scheduler_failed"
    assert told["send"]["enabled"] is False
    shown = " ".join(project.call("schedules", "show", "nightly").out.split())
    assert "broken: its stored `expression` cannot be read" in shown, shown


def test_a_deferred_tick_has_not_fired(project: Folder) -> None:
    """The list, the details and JSON say what the ledger says."""
    with open_bell(project) as bell:
        now = bell.store.clock.now()
    opening = now + timedelta(hours=3)
    window = f"{opening:%H:%M}-{opening + timedelta(hours=1):%H:%M}"
    project.ask(*ADD, "--cron", "* * * * * *", "--timezone", "UTC", "--window", window)
    with open_bell(project) as bell:
        Materialise(bell.store, bell.registry, lambda _: None, 1.0).step(bell.store.clock.now() + timedelta(seconds=2))
    assert project.ask("schedules", "ticks", "nightly", "-n", "1")[0]["outcome"] in ("coalesced", "deferred")
    told = project.ask("schedules", "show", "nightly")
    assert (told["last_fire_status"], told["last_status"]) == ("deferred", "deferred")
    for verb in (("list",), ("show", "nightly")):
        text = project.call("schedules", *verb).out
        assert "deferred" in text
        assert "fired" not in text


def test_ticks(project: Folder) -> None:
    """F2: the ledger can be asked."""
    project.ask(*ADD, "--cron", "* * * * * *")
    assert project.call("schedules", "ticks", "nightly").out == "nightly has had no tick yet.\n"
    with open_bell(project) as bell:
        later = bell.store.clock.now() + timedelta(minutes=5)
        Materialise(bell.store, bell.registry, lambda _: None, 1.0).step(later)
        assert bell.schedules.get("nightly").run_count == 1
        bell.schedules.pause("nightly")
    told = project.ask("schedules", "ticks", "nightly")
    assert {tick["outcome"] for tick in told} == {"fired", "coalesced"}
    fired = next(tick for tick in told if tick["outcome"] == "fired")
    span = next(tick for tick in told if tick["outcome"] == "coalesced")
    assert fired["run_id"]
    assert span["count"] > 200
    assert span["reason"]
    text = project.call("schedules", "ticks", "nightly").out
    assert fired["run_id"] in text
    assert f"{span['count']:,} ticks, until" in text
    assert len(project.ask("schedules", "ticks", "nightly", "-n", "1")) == 1


class TestPreview:
    def test_of_an_expression(self, folder: Folder) -> None:
        """F3: needs neither a project nor a store; a time that a change of clocks leaves out is met after it."""
        told = folder.ask(
            *("schedules", "preview", "--cron", "30  2 * * *", "--timezone", "Europe/Paris"),
            *("--after", "2026-03-27T12:00:00+01:00", "-n", "3"),
        )
        assert told == {
            "cron": "30 2 * * *",
            "timezone": "Europe/Paris",
            "description": "at 02:30, every day, Europe/Paris",
            "ticks": ["2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"],
        }
        assert not list(folder.path.iterdir())

    def test_the_clocks_are_shown(self, folder: Folder) -> None:
        arguments = ("--timezone", "Europe/Paris", "--after", "2026-10-24T23:50:00Z", "-n", "4")
        lines = folder.call("schedules", "preview", "--cron", "*/30 * * * *", *arguments).out.splitlines()
        assert lines[0] == "Every 30 minutes, Europe/Paris"
        ticks = [" ".join(line.split()) for line in lines[2:]]
        assert ticks == [
            "Sun 2026-10-25 02:00:00 +02:00 2026-10-25 00:00:00Z comes twice: the first",
            "Sun 2026-10-25 02:30:00 +02:00 2026-10-25 00:30:00Z comes twice: the first",
            "Sun 2026-10-25 02:00:00 +01:00 2026-10-25 01:00:00Z +02:00 to +01:00; comes twice: the second",
            "Sun 2026-10-25 02:30:00 +01:00 2026-10-25 01:30:00Z comes twice: the second",
        ]

    def test_in_utc_nothing_is_said_twice(self, folder: Folder) -> None:
        text = folder.call("schedules", "preview", "--cron", "@daily", "--timezone", "UTC", "-n", "1").out
        assert text.count("UTC") == 2
        assert "clocks" not in text

    def test_of_a_schedule(self, project: Folder) -> None:
        project.ask(*ADD, "--cron", "0 * * * *", "--window", "02:00-03:30")
        told = project.ask("schedules", "preview", "nightly", "--after", "2026-01-01T00:30:00Z", "-n", "3")
        assert told["schedule"] == "nightly"
        assert told["cron"] == "0 * * * *"
        assert told["ticks"] == ["2026-01-01T01:00:00Z", "2026-01-01T02:00:00Z", "2026-01-02T01:00:00Z"]

    @pytest.mark.parametrize(
        ("options", "code", "words"),
        [
            ([], 2, "either the name of a schedule or --cron"),
            (["nightly", "--cron", "@daily"], 2, "either the name of a schedule or --cron"),
            (["nightly", "--timezone", "UTC"], 2, "a schedule has its own"),
            (["--cron", "@daily", "--after", "2026-01-01T00:00:00"], 2, "is not a time with a zone"),
            (["--cron", "@daily", "-n", "0"], 2, "-n"),
            (["--cron", "99 * * * *"], 78, "minute"),
            (["--cron", "@daily", "--timezone", "Nowhere"], 78, "time zone 'Nowhere' is unknown"),
        ],
    )
    def test_what_cannot_be_previewed(self, options: list[str], code: int, words: str, folder: Folder) -> None:
        answer = folder.call("schedules", "preview", *options)
        assert answer.code == code
        assert words in answer.error


def test_run_now(project: Folder) -> None:
    """With the input and the settings of the schedule; its ticks go on as before."""
    asked = ["--cron", "@daily", "--input", '{"to": "x"}', "--queue", "mail", "--priority", "5"]
    before = project.ask(*ADD, *asked)["next_run_at"]
    assert re.search(r'^  input +{"to":"x"}$', project.call("schedules", "show", "nightly").out, re.MULTILINE)
    run = project.ask("schedules", "run", "nightly")
    told = {word: run[word] for word in ("job", "input", "queue", "priority")}
    assert told == {"job": "send", "input": {"to": "x"}, "queue": "mail", "priority": 5}
    text = project.call("schedules", "run", "nightly").out
    assert "of send: queued\n" in text
    assert "No worker is running" in text
    assert project.ask("schedules", "show", "nightly")["next_run_at"] == before
    assert_refused(project.call("schedules", "run", "nobody"), 4, "'nobody'")
    assert [entry["action"] for entry in project.ask("audit")].count("schedules.run") == 2
