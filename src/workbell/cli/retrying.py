"""Retry options of the commands about jobs, schedules, triggers and webhooks, named as the fields of `Retry`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple, TypeVar

import click
import msgspec

from workbell.cli.renamed import Renamed
from workbell.cli.values import SPAN
from workbell.model.retry import Retry

Command = TypeVar("Command", bound=Callable[..., Any])


class Old(NamedTuple):
    """The word that one of the options had before, and how its values are read."""

    word: str
    read: Callable[[str], str] | None = None


def _milliseconds(text: str) -> str:
    try:
        return f"{Decimal(text) / 1000:f}s"
    except InvalidOperation:
        raise ValueError(text) from None


def _growth(text: str) -> str:
    return {"fixed": "1", "exponential": "2"}.get(text, text)


OPTIONS: dict[str, dict[str, Any]] = {
    "attempts": {"type": click.IntRange(1, 1000), "help": "How often a run is tried, the first time included."},
    "retry_delay": {"type": SPAN, "metavar": "SPAN", "help": "How long the first retry waits: 0.5s, 90, 5m."},
    "retry_factor": {"type": click.FloatRange(1, 1000), "help": "How much longer each further retry waits: 2 doubles."},
    "retry_cap": {"type": SPAN, "metavar": "SPAN", "help": "How long a retry waits at the most."},
}
OF_SCHEDULES = {
    "attempts": Old("--max-retries", lambda text: str(int(text) + 1)),
    "retry_delay": Old("--backoff-ms", _milliseconds),
    "retry_factor": Old("--backoff-type", _growth),
}
OF_TRIGGERS = {
    "attempts": Old("--max-attempts"),
    "retry_delay": Old("--initial-delay-ms", _milliseconds),
    "retry_factor": Old("--backoff-multiplier"),
    "retry_cap": Old("--max-delay-ms", _milliseconds),
}


def retry_options(before: Mapping[str, Old]) -> Callable[[Command], Command]:
    """The four options; `before` are the words that the command had."""

    def give(command: Command) -> Command:
        for name, settings in reversed(OPTIONS.items()):
            old = before.get(name)
            renamed: dict[str, Any] = {} if old is None else {"cls": Renamed, "old": old.word, "read": old.read}
            command = click.option(f"--{name.replace('_', '-')}", **renamed, **settings)(command)
        return command

    return give


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
