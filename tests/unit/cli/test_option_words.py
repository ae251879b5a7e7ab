"""One word for one thing in the options of all commands; old words are accepted for one release, and are not shown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
import pytest
from click.testing import CliRunner

from workbell.cli.main import workbell

OLD = {"--data": "--input", "--payload": "--input", "--workers": "--processes", "--number": "--limit", "-n": "--limit"}

RENAMED: dict[str, Any] = {
    'jobs run send --data {"to":"Ada"}': {"to": "Ada"},
    'schedules add nightly --job send --cron @daily --payload {"to":"Ada"}': {"to": "Ada"},
    "start --workers 4": 4,
    "jobs runs send -n 3": 3,
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


@pytest.mark.parametrize("old", ["--data", "--payload", "--workers"])
def test_an_old_word_says_the_new_one_on_stderr(old: str, capsys: pytest.CaptureFixture[str]) -> None:
    (line,) = (line for line in RENAMED if f" {old} " in line)
    parsed(line)
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == f"workbell: {old} is now {OLD[old]}; the next release no longer takes the old word.\n"
    parsed(line.replace(old, OLD[old]))
    assert capsys.readouterr().err == ""


def test_both_words_at_once_are_refused() -> None:
    with pytest.raises(click.UsageError, match="--workers is the old word for --processes; give --processes alone"):
        parsed("start --workers 2 --processes 4")


def test_an_error_of_a_value_names_the_new_word() -> None:
    with pytest.raises(click.BadParameter, match="write JSON") as caught:
        parsed("jobs run send --data {")
    assert "--input" in caught.value.format_message()


@pytest.mark.parametrize("line", ["jobs run", "schedules add", "start"])
def test_help_has_the_new_word_alone(line: str) -> None:
    shown = CliRunner().invoke(workbell, [*line.split(), "--help"]).output
    assert ("--input" in shown) or ("--processes" in shown)
    assert not any(old in shown for old in ("--data", "--payload", "--workers"))
