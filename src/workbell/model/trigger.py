"""Trigger: a pattern of event types, and the job that each matching event starts."""

from __future__ import annotations

from datetime import datetime
from typing import Any, TypedDict

import msgspec

from workbell.errors import InvalidOption
from workbell.model.job import TENANT
from workbell.model.retry import Retry, changed_policy
from workbell.model.run_defaults import NO_DEFAULTS, RUN_WORDS, RunDefaults
from workbell.model.unreadable import UnreadableColumns


class Trigger(msgspec.Struct, frozen=True, kw_only=True):
    """One pattern and one job. `source` is the code that declares it, or `api` for one that was made by a call."""

    id: str
    name: str
    pattern: str
    job: str
    created_at: datetime
    updated_at: datetime
    tenant: str = TENANT
    description: str = ""
    enabled: bool = True
    retry: Retry | None = None
    source: str = "api"
    declared_at: datetime | None = None  # when code last said that it wants it
    version: int = 0
    options: RunDefaults = NO_DEFAULTS  # of its runs; their retries stand above
    unreadable: UnreadableColumns | None = None

    @property
    def said(self) -> RunDefaults:
        """All that it says about its runs."""
        return self.options if self.retry is None else msgspec.structs.replace(self.options, retry=self.retry)

    def as_dict(self) -> dict[str, Any]:
        """The trigger as a job definition of events: the words of the public API, ready for JSON."""
        from workbell.wire.triggers import TriggerShown

        found: dict[str, Any] = msgspec.to_builtins(TriggerShown.of(self), builtin_types=[datetime])
        return found


OPTION_FIELDS = tuple(word for word in RUN_WORDS if word != "retry")


class RetryConfig(TypedDict, total=False):
    """A retry policy in the words of event jobs; delays are in milliseconds."""

    max_attempts: int
    initial_delay_ms: float
    backoff_multiplier: float
    max_delay_ms: float


DEFAULT_RETRY = Retry(attempts=3, delay=1, factor=2, cap=60, jitter=0)
_WORDS = {
    "max_attempts": "attempts",
    "initial_delay_ms": "delay",
    "backoff_multiplier": "factor",
    "max_delay_ms": "cap",
}


def retry_from(
    value: Retry | RetryConfig | None, default: Retry = DEFAULT_RETRY, known: Retry | None = None
) -> Retry | None:
    """A policy given in either way. What a config leaves out is as in the `known` policy, or else as in the default; a
    longer delay raises the cap. One that leaves out nothing is a whole policy; there is no word for jitter, so its
    delays are exact. If it is what the known policy is shown as, that one stays.
    """
    if value is None or isinstance(value, Retry):
        return value
    if known is not None and value == config_of(known):
        return known
    if not isinstance(value, dict):
        raise InvalidOption(f"retry_config: expected a Retry or a dict, got {type(value).__name__}.")
    unknown = sorted(set(value) - set(_WORDS))
    if unknown:
        raise InvalidOption(f"retry_config: there is no {unknown[0]!r}; the words are {', '.join(_WORDS)}.")
    given: dict[str, Any] = {}
    for word, number in value.items():
        if word.endswith("_ms"):
            if isinstance(number, bool) or not isinstance(number, int | float):
                raise InvalidOption(f"retry_config: {word} must be a number of milliseconds, got {number!r}.")
            number = number / 1000
        given[_WORDS[word]] = number
    whole = msgspec.structs.replace(default, jitter=0, give_up_on=(), only_on=())
    return changed_policy(whole if known is None or len(given) == len(_WORDS) else known, given)


def config_of(retry: Retry) -> RetryConfig:
    return RetryConfig(
        max_attempts=retry.attempts,
        initial_delay_ms=retry.delay * 1000,
        backoff_multiplier=retry.factor,
        max_delay_ms=retry.cap * 1000,
    )
