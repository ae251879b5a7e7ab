"""Options of commands about the runs that a schedule or a trigger makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from workbell.cli.values import SPAN, USER
from workbell.model.run_settings import PRIORITIES

Command = TypeVar("Command", bound=Callable[..., Any])

OPTIONS = (
    click.option("--queue", metavar="NAME", help="The queue of the runs. Otherwise: the job's, or default."),
    click.option("--priority", type=click.IntRange(PRIORITIES[0], PRIORITIES[-1]), help="Higher runs first."),
    click.option("--timeout", type=SPAN, metavar="SPAN", help="How long an attempt may take."),
    click.option("--target", metavar="AGENT", help="Which agent is to run it."),
    click.option("--tag", metavar="TEXT", help="A word to find the runs by."),
    click.option("--replace-tag/--no-replace-tag", default=None, help="Cancel waiting runs of the same tag."),
    click.option("--user-id", type=USER, metavar="USER", help="The user of the runs."),
    click.option(
        "--persistent/--no-persistent", default=None, help="Whether runs survive the process that enqueued them."
    ),
    click.option("--auto-reschedule", type=SPAN, metavar="SPAN", help="Enqueue a failed run again after this long."),
    click.option("--remove-delay", type=SPAN, metavar="SPAN", help="How long a run is kept after its end."),
    click.option("--expires", type=SPAN, metavar="SPAN", help="Cancel a run that has not started by then."),
)


def run_options(command: Command) -> Command:
    for option in reversed(OPTIONS):
        command = option(command)
    return command
