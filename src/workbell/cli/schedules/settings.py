"""Options that define a schedule: when it ticks, its policies, and the settings of its runs."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any, TypeVar

import click

from workbell.cli.retrying import retry_options
from workbell.cli.run_options import run_options
from workbell.cli.values import INSTANT, JSON, SPAN, WINDOW
from workbell.model.retry import read_retry
from workbell.model.run import Outside
from workbell.model.schedule import CatchUp, Overlap

Command = TypeVar("Command", bound=Callable[..., Any])

RETRY = read_retry({})  # what a schedule's policy leaves out
WHEN = ("cron", "every", "at")


def words(kind: type[StrEnum]) -> list[str]:
    """As texts: of an enum, click shows the names and not the words."""
    return [word.value for word in kind]


TICKS = (
    click.option("--cron", metavar="TEXT", help="When: five fields, or six with seconds first."),
    click.option("--every", type=SPAN, metavar="SPAN", help="When: every 90, 5m, 1h30m."),
    click.option("--at", type=INSTANT, metavar="TIME", help="When: once, such as 2026-11-16T09:00:00Z."),
    click.option("--anchor", type=INSTANT, metavar="TIME", help="Where --every is counted from; otherwise from now."),
    click.option("--timezone", metavar="ZONE", help="Such as Europe/Paris; otherwise the setting, else the machine's."),
    click.option("--input", type=JSON, metavar="JSON", help="The arguments of every run, by name."),
    click.option(
        "--window", type=WINDOW, metavar="A-B", help="Runs of ticks start only in it: 02:00-06:00, also 22:00-04:00."
    ),
    click.option(
        "--outside",
        type=click.Choice(words(Outside)),
        help="A tick, or a start of its run, outside the window. Otherwise: defer.",
    ),
    click.option(
        "--overlap", type=click.Choice(words(Overlap)), help="A tick while the last run lives. Otherwise: skip."
    ),
    click.option("--catch-up", type=click.Choice(words(CatchUp)), help="Ticks missed in an outage. Otherwise: latest."),
    click.option("--catch-up-cap", type=click.IntRange(1, 10_000), help="How many runs `all` makes at the most."),
    click.option("--jitter", type=SPAN, metavar="SPAN", help="Spread runs over this long after the tick."),
)
ABOUT = (
    click.option("--description", metavar="TEXT", help="What it is for."),
    click.option("--created-by", metavar="TEXT", help="Who created it."),
    click.option("--alert-url", metavar="URL", help="Notify this URL of runs that failed for good."),
    click.option("--ping-url", metavar="URL", help="Notify this URL whenever a run ends, as healthchecks.io wants it."),
)


def schedule_options(command: Command) -> Command:
    for option in reversed(ABOUT):
        command = option(command)
    command = retry_options(run_options(command))
    for option in reversed(TICKS):
        command = option(command)
    return command


def check_when(given: dict[str, Any], *, needed: bool) -> None:
    """Raise if two options say when, or none does where it must be said."""
    when = [f"--{word}" for word in WHEN if given[word] is not None]
    if len(when) > 1 or (needed and not when):
        raise click.UsageError(
            f"Say when by exactly one of --cron, --every and --at; got {' and '.join(when) or 'none'}."
        )


def given_settings(given: dict[str, Any]) -> dict[str, Any]:
    """The options that were given, in the words of `bell.schedules`; those about retries were taken out before."""
    return {word: value for word, value in given.items() if value is not None}
