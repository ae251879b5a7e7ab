"""The command `workbell` as a user calls it: a process of its own, in a folder of its own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click

from workbell.cli.main import workbell

from . import warm
from .environment import without_settings
from .warm import SOURCE


class Answer(NamedTuple):
    code: int
    out: str
    error: str


def environment(**extra: str) -> dict[str, str]:
    """This process's environment without settings of ours or of colours."""
    kept = without_settings("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "COLUMNS")
    return kept | {"PYTHONPATH": str(SOURCE), "PYTHONUNBUFFERED": "1", "WORKBELL_HTTP": "false"} | extra


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "workbell", *arguments]


def every_command(group: click.Group = workbell, path: str = "") -> Iterator[tuple[str, click.Command]]:
    """Each command with the words that call it, those of plain groups too."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from every_command(command, f"{path}{name} ")
        else:
            yield f"{path}{name}", command


def call(folder: Path, *arguments: str, **extra: str) -> Answer:
    """Run a command to its end."""
    done = warm.run("workbell", *arguments, folder=folder, environment=environment(**extra))
    return Answer(done.returncode, done.stdout, done.stderr)


def assert_refused(answer: Answer, code: int, *words: str) -> None:
    """One line on stderr that begins as all our errors do, has these words in it, and is no traceback."""
    assert answer.code == code, answer
    assert answer.error.startswith("workbell: "), answer.error
    assert answer.error.count("\n") == 1, answer.error
    for word in words:
        assert word in answer.error, answer.error
