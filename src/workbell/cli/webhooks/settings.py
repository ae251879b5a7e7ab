"""The options of endpoints that `add` and `update` share."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any, TypeVar, cast

import click

from workbell.cli.output import echo
from workbell.cli.retrying import retry_options
from workbell.cli.values import SPAN
from workbell.webhooks.endpoints import EndpointSettings

Command = TypeVar("Command", bound=Callable[..., Any])

STDIN = "-"


def endpoint_options(command: Command) -> Command:
    command = retry_options(command)
    for option in (
        click.option("--timeout", type=SPAN, metavar="SPAN", help="For one attempt, up to 30s. Otherwise: 15s."),
        click.option("--concurrency", type=click.IntRange(1), help="How many deliveries at once. Otherwise: 5."),
        click.option("--rate", metavar="RATE", help="No more deliveries than that: 10/s, 100/m."),
        click.option("--description", metavar="TEXT", help="What it is for."),
        click.option(
            "--header", "headers", multiple=True, metavar="TEXT", help='Sent along: "Name: value"; may be repeated.'
        ),
        click.option("--pattern", "patterns", multiple=True, metavar="PATTERN", help="Which events; may be repeated."),
    ):
        command = option(command)
    return command


def settings_of(given: dict[str, Any]) -> EndpointSettings:
    """The options that were given, in the words of `bell.webhooks.add`; those about retries were taken out before."""
    settings = {word: value for word, value in given.items() if value not in (None, ())}
    if "headers" in settings:
        settings["headers"] = _headers(settings["headers"])
    if isinstance(settings.get("timeout"), timedelta):
        settings["timeout"] = settings["timeout"].total_seconds()
    return cast(EndpointSettings, settings)


def _headers(given: Iterable[str]) -> dict[str, str]:
    """By their names. No message repeats what was given: there may be a token in it."""
    found: dict[str, str] = {}
    for text in given:
        name, colon, value = (part.strip() for part in text.partition(":"))
        if not colon:
            raise click.BadParameter('write a header as "Name: value".', param_hint="--header")
        if name in found:
            raise click.BadParameter(f"{name} is given twice.", param_hint="--header")
        found[name] = value
    return found


def secret_option(command: Command) -> Command:
    return click.option(
        "--secret", metavar="TEXT", help="One of your own, or - to read it from stdin; otherwise one is generated."
    )(command)


def read_secret(given: str | None) -> str | None:
    """Others can see what stands on a command line; what comes from stdin they cannot."""
    return sys.stdin.readline().strip() if given == STDIN else given


def print_secret(secret: str) -> None:
    """Alone on stdout, so that it can be piped to where it is stored."""
    echo("Its secret, which is shown this once and never again:", err=True)
    echo(secret)
