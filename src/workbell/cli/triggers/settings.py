"""The option that `triggers add` and `triggers update` share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


def job_option(*, required: bool) -> Callable[[Command], Command]:
    return click.option(
        "--job",
        "processor",
        metavar="NAME",
        required=required,
        help="What they start: a job that takes an event, or webhook-delivery.",
    )
