"""One word for one thing in the options of all commands; old words are accepted for one release, and are not shown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from workbell.cli.main import workbell
from workbell.http import dashboard

OLD = {
    "--data": "--input",
    "--payload": "--input",
    "--workers": "--processes",
    "-n": "--limit",
    "--processor": "--job",
    "--max-retries": "--attempts",
    "--max-attempts": "--attempts",
    "--backoff-ms": "--retry-delay",
    "--initial-delay-ms": "--retry-delay",
    "--backoff-type": "--retry-factor",
    "--backoff-multiplier": "--retry-factor",
    "--max-delay-ms": "--retry-cap",
}

RENAMED: dict[str, Any] = {
    'jobs run send --data {"to":"Ada"}': {"to": "Ada"},
    'schedules add nightly --job send --cron @daily --payload {"to":"Ada"}': {"to": "Ada"},
    "start --workers 4": 4,
    "jobs runs send -n 3": 3,
    "triggers add mails --pattern a.* --processor send": "send",
    "schedules add nightly --job send --max-retries 4": 5,
    "schedules add nightly --job send --backoff-ms 500": timedelta(milliseconds=500),
    "schedules add nightly --job send --backoff-type exponential": 2.0,
    "triggers add mails --pattern a.* --job send --max-attempts 5": 5,
    "triggers update mails --initial-delay-ms 250": timedelta(milliseconds=250),
    "triggers update mails --initial-delay-ms 1234567": timedelta(milliseconds=1234567),
    "triggers update mails --max-delay-ms 1000000000": timedelta(seconds=1_000_000),
    "triggers update mails --backoff-multiplier 3": 3.0,
    "webhooks update 01a1e3 --max-delay-ms 5000": timedelta(seconds=5),
    "schedules preview nightly -n 3": 3,
    "schedules ticks nightly -n 3": 3,
}


def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None, name
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


def visible(command: click.Command) -> Iterator[list[str]]:
    """The spellings of each option, as the help and the reference show them."""
    for param in command.params:
        if isinstance(param, click.Option) and not param.hidden:
            yield [*param.opts, *param.secondary_opts]


def parsed(line: str) -> dict[str, Any]:
    """What a line of options means to its command; the command is not called."""
    name, command = next((name, command) for name, command in commands(workbell) if f"{line} ".startswith(f"{name} "))
    return command.make_context(name, line.removeprefix(name).split()).params


@pytest.mark.parametrize(("old", "new"), OLD.items())
def test_an_old_word_is_not_shown(old: str, new: str) -> None:
    """The short `-n` stays, beside the word."""
    every = dict(commands(workbell))
    assert len(every) > 60, "the walk finds the commands"
    wrong = [
        name
        for name, command in every.items()
        for words in visible(command)
        if old in words and not (old == "-n" and new in words)
    ]
    assert not wrong, f"{old} should be {new} in: {', '.join(wrong)}"


@pytest.mark.parametrize("line", RENAMED)
def test_an_old_word_is_still_understood(line: str) -> None:
    assert RENAMED[line] in parsed(line).values()


@pytest.mark.parametrize("old", [old for old in OLD if old.startswith("--")])
def test_an_old_word_says_the_new_one_on_stderr(old: str, capsys: pytest.CaptureFixture[str]) -> None:
    line = next(line for line in RENAMED if f" {old} " in line)
    parsed(line)
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith(f"workbell: {old} ")
    assert f" is now {OLD[old]}" in told.err
    assert told.err.endswith("; the next release no longer takes the old word.\n")


def test_the_note_has_the_new_value_where_it_is_another(capsys: pytest.CaptureFixture[str]) -> None:
    parsed("schedules add nightly --job send --max-retries 4")
    assert "--max-retries 4 is now --attempts 5;" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("triggers update mails --initial-delay-ms soon", "--retry-delay"),
        ("schedules add nightly --job send --max-retries -1", "--attempts"),
        ("schedules add nightly --job send --max-retries many", "--attempts"),
        ("schedules add nightly --job send --backoff-type odd", "--retry-factor"),
    ],
)
def test_an_old_value_that_means_nothing_is_refused(line: str, hint: str) -> None:
    with pytest.raises(click.BadParameter) as caught:
        parsed(line)
    assert hint in caught.value.format_message()


@pytest.mark.parametrize("line", ["jobs run send --input {}", "start --processes 2", "triggers update x --attempts 2"])
def test_a_new_word_leads_to_no_note(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    parsed(line)
    assert capsys.readouterr().err == ""


def test_both_words_at_once_are_refused() -> None:
    with pytest.raises(click.UsageError, match="--workers is the old word for --processes; give --processes alone"):
        parsed("start --workers 2 --processes 4")


def test_an_error_of_a_value_names_the_new_word() -> None:
    with pytest.raises(click.BadParameter, match="write JSON") as caught:
        parsed("jobs run send --data {")
    assert "--input" in caught.value.format_message()


def test_the_dashboard_shows_no_old_word() -> None:
    """It has commands to copy."""
    scripts = {path.name: path.read_text("utf-8") for path in Path(dashboard.__file__).parent.rglob("*.js")}
    assert "jobs" in scripts["run.js"], "the scripts are found"
    words = re.compile(rf"(?<![\w-])({'|'.join(old for old in OLD if old != '-n')})(?![\w-])")
    found = {name: words.findall(text) for name, text in scripts.items() if words.search(text)}
    assert not found


@pytest.mark.parametrize("line", ["jobs run", "schedules add", "start"])
def test_help_has_the_new_word_alone(line: str) -> None:
    shown = CliRunner().invoke(workbell, [*line.split(), "--help"]).output
    assert ("--input" in shown) or ("--processes" in shown)
    assert not any(old in shown for old in ("--data", "--payload", "--workers"))
