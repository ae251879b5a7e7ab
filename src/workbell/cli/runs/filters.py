"""Filter options for runs, for lists and for actions with --all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from workbell.cli.values import SINCE, USER, Kind
from workbell.model.filter_options import FilterOptions
from workbell.model.payload_fields import value_from
from workbell.model.run import Status

Command = TypeVar("Command", bound=Callable[..., Any])


class PayloadField(Kind):
    """`customer.id=42`: a path, and a JSON value; what is no JSON is a text."""

    name = "field"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, Any]:
        if isinstance(value, tuple):
            return value
        path, equals, text = str(value).partition("=")
        if not equals:
            self.fail(f"{value!r} is no field with its value; write one such as customer.id=42.", param, ctx)
        return path.strip(), value_from(text)


OPTIONS = (
    click.option(
        "--status",
        multiple=True,
        type=click.Choice([status.value for status in Status]),
        help="Only these; may be repeated.",
    ),
    click.option("--job", metavar="NAME", help="Only of this job."),
    click.option("--queue", metavar="NAME", help="Only of this queue."),
    click.option("--tag", metavar="TEXT", help="Only with this tag."),
    click.option("--schedule", metavar="NAME", help="Only those that this schedule made."),
    click.option("--user-id", type=USER, metavar="USER", help="Only those of this user."),
    click.option("--target", metavar="NAME", help="Only for this agent, or label:x."),
    click.option("--event", metavar="ID", help="Only those that this event made."),
    click.option("--retry-of", metavar="ID", help="Only those that a retry of this run made."),
    click.option("--retried/--not-retried", default=None, help="Only those that were retried, or were not."),
    click.option(
        "--since",
        type=SINCE,
        metavar="TIME",
        help="Only created then or later: 2026-11-16T09:00:00Z, or 2h for 2h ago.",
    ),
    click.option("--until", type=SINCE, metavar="TIME", help="Only created before then."),
    click.option(
        "--input",
        multiple=True,
        type=PayloadField(),
        metavar="PATH=VALUE",
        help="Only with this in the input: customer.id=42; may be repeated.",
    ),
)
NAMES = tuple("status job queue tag schedule user_id target event retry_of retried since until input".split())


def filter_options(command: Command) -> Command:
    """Give a command the options; given values come as keyword arguments, for `filter_from`."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def filter_from(given: dict[str, Any]) -> FilterOptions:
    """The filter options of `bell.runs` that were given."""
    words: dict[str, Any] = {name: given[name] for name in NAMES if given[name] not in (None, ())}
    if "input" in words:
        words["input"] = dict(words["input"])
    found: FilterOptions = words  # type: ignore[assignment]
    return found
