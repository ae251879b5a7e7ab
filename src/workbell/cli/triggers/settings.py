"""The options of triggers that `add` and `update` share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from workbell.cli.renamed import Renamed
from workbell.cli.retrying import OF_TRIGGERS, take_retry
from workbell.cli.retrying import retry_options as options
from workbell.model.trigger import RetryConfig

Command = TypeVar("Command", bound=Callable[..., Any])

retry_options = options(OF_TRIGGERS)
WORDS = {"attempts": "max_attempts", "factor": "backoff_multiplier"}
IN_MILLISECONDS = {"delay": "initial_delay_ms", "cap": "max_delay_ms"}


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


def retry_config(given: dict[str, Any]) -> RetryConfig:
    """Options about retries in the words of triggers; removed from those that were given."""
    config: Any = {
        WORDS.get(word) or IN_MILLISECONDS[word]: value * 1000 if word in IN_MILLISECONDS else value
        for word, value in take_retry(given).items()
    }
    found: RetryConfig = config
    return found
