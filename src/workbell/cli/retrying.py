"""Retry options of the commands about jobs, schedules, triggers and webhooks, named as the fields of `Retry`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

import click
import msgspec

from workbell.cli.values import SPAN
from workbell.model.retry import Retry

Command = TypeVar("Command", bound=Callable[..., Any])


OPTIONS: dict[str, dict[str, Any]] = {
    "attempts": {"type": click.IntRange(1, 1000), "help": "How often a run is tried, the first time included."},
    "retry_delay": {"type": SPAN, "metavar": "SPAN", "help": "How long the first retry waits: 0.5s, 90, 5m."},
    "retry_factor": {"type": click.FloatRange(1, 1000), "help": "How much longer each further retry waits: 2 doubles."},
    "retry_cap": {"type": SPAN, "metavar": "SPAN", "help": "How long a retry waits at the most."},
}


def retry_options(command: Command) -> Command:
    for name, settings in reversed(OPTIONS.items()):
        command = click.option(f"--{name.replace('_', '-')}", **settings)(command)
    return command


def changed_retry(changes: dict[str, Any], before: Retry) -> Retry:
    """A retry policy with these changes. The rest stays as before; a longer delay raises the cap."""
    changed = msgspec.structs.replace(before, **changes)
    if "cap" not in changes:
        return msgspec.structs.replace(changed, cap=max(changed.cap, changed.delay))
    if "delay" in changes and changed.cap < changed.delay:
        raise click.UsageError("--retry-cap is less than --retry-delay, which would not count; give a longer cap.")
    if changed.factor == 1 and changed.cap >= changed.delay:
        raise click.UsageError(
            f"--retry-cap does nothing: each retry waits {changed.delay:g} s; give --retry-factor to let waits grow."
        )
    return changed


def take_retry(given: dict[str, Any]) -> dict[str, Any]:
    """Options about retries in the words of `Retry`, in seconds; removed from those that were given."""
    chosen = {name.removeprefix("retry_"): given.pop(name) for name in OPTIONS}
    return {
        word: value.total_seconds() if isinstance(value, timedelta) else value
        for word, value in chosen.items()
        if value is not None
    }
