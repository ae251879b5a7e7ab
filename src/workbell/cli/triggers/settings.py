"""The options of triggers that `add` and `update` share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import click

from workbell.model.trigger import RetryConfig

Command = TypeVar("Command", bound=Callable[..., Any])

RETRY = {
    "max_attempts": (click.IntRange(1, 1000), "How often a run is tried."),
    "initial_delay_ms": (click.FloatRange(0), "How long the first retry waits, in milliseconds."),
    "backoff_multiplier": (click.FloatRange(1), "How that grows from one to the next."),
    "max_delay_ms": (click.FloatRange(0), "How long a retry waits at the most, in milliseconds."),
}


def retry_options(command: Command) -> Command:
    for word, (kind, text) in reversed(RETRY.items()):
        command = click.option(f"--{word.replace('_', '-')}", type=kind, help=text)(command)
    return command


def retry_config(given: dict[str, Any]) -> RetryConfig:
    """What was said of retries; taken out of what was given."""
    said = {word: given.pop(word) for word in RETRY}
    return cast(RetryConfig, {word: value for word, value in said.items() if value is not None})
