"""The options of triggers that `add` and `update` share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from workbell.cli.renamed import Renamed
from workbell.cli.retrying import OF_TRIGGERS
from workbell.cli.retrying import retry_options as options

Command = TypeVar("Command", bound=Callable[..., Any])

retry_options = options(OF_TRIGGERS)


def job_option(*, required: bool) -> Callable[[Command], Command]:
    return click.option(
        "--job",
        "processor",
        cls=Renamed,
        old="--processor",
        metavar="NAME",
        required=required,
        help="What they start: a job that takes an event, or webhook-delivery.",
    )
