"""Retry policy: how often a failed run is tried again, and the delays between attempts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from random import Random
from typing import Any

import msgspec

from workbell.errors import InvalidOption
from workbell.model.clock import seconds

ErrorNames = tuple[str, ...]

DAY = 86400.0  # seconds


class Retry(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Retry policy: how often a run is tried, and how long it waits in between.

    `Retry(attempts=5, delay=1, factor=2, cap=60)` tries five times, waiting 1, 2, 4 and 8 seconds; jitter only
    ever adds. Errors named in `give_up_on` end the run at once; with `only_on` all others do. Both take classes
    or dotted names, and match subclasses.
    """

    attempts: int = 3
    delay: float = 1.0
    factor: float = 2.0
    cap: float = 60.0
    jitter: float = 0.1
    give_up_on: ErrorNames = ()
    only_on: ErrorNames = ()

    def __post_init__(self) -> None:
        if isinstance(self.attempts, bool) or not isinstance(self.attempts, int) or self.attempts < 1:
            raise InvalidOption(f"retry: attempts must be a whole number of 1 or more, got {self.attempts!r}.")
        for span in ("delay", "cap"):
            msgspec.structs.force_setattr(self, span, seconds(f"retry: {span}", getattr(self, span)))
        for name, low, high in (("factor", 1, 1000), ("jitter", 0, 10)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
                raise InvalidOption(f"retry: {name} must be from {low} to {high}, got {value!r}.")
        for field in ("give_up_on", "only_on"):
            msgspec.structs.force_setattr(self, field, error_names(field, getattr(self, field)))

    def allows(self, failures: int, error: BaseException | Iterable[str] | None) -> bool:
        """Whether another attempt is due after this many failures, the last of them this error, or of these kinds."""
        if failures >= self.attempts:
            return False
        if error is None:
            return True
        names = kinds_of(type(error)) if isinstance(error, BaseException) else set(error)
        if names & set(self.give_up_on):
            return False
        return not self.only_on or bool(names & set(self.only_on))

    def wait(self, failures: int, randomness: Random) -> timedelta:
        """Delay after the given number of failures (1 or more)."""
        try:
            growth = float(self.factor) ** (failures - 1)
        except OverflowError:  # after a long row of failures
            growth = float("inf")
        base = min(self.delay * growth, self.cap) if self.delay else 0.0
        return timedelta(seconds=base * (1 + self.jitter * randomness.random()))


def error_names(field: str, errors: Iterable[type[BaseException] | str] | type[BaseException] | str) -> ErrorNames:
    """Error classes as dotted names: the policy is stored with the run, and classes cannot be."""
    if isinstance(errors, str | type):
        errors = (errors,)
    if not isinstance(errors, Iterable):
        raise _no_error(field, errors)
    return tuple(_as_name(field, error) for error in errors)


def _as_name(field: str, error: object) -> str:
    if isinstance(error, str):
        return error
    if isinstance(error, type) and issubclass(error, BaseException):
        return error_name(error)
    raise _no_error(field, error)


def _no_error(field: str, value: object) -> InvalidOption:
    return InvalidOption(f"retry: {field} takes error classes or their dotted names, got {value!r}.")


def error_name(kind: type[BaseException]) -> str:
    """`ValueError`, `httpx.TimeoutException`: builtins without their module."""
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def kinds_of(kind: type[BaseException]) -> set[str]:
    """The names of an error's class and of those above it."""
    return {error_name(base) for base in kind.__mro__ if issubclass(base, BaseException)}


class RetryWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A retry policy in the words of a schedule: how many retries, and how they are spaced."""

    max_retries: int = 2
    backoff_ms: float = 2000
    backoff_type: str = "fixed"


def policy_of(retry: Retry) -> RetryWords | None:
    """A policy in the words of a schedule; None, if they cannot say it."""
    kind = {1.0: "fixed", 2.0: "exponential"}.get(retry.factor)
    if kind is None or retry.jitter or retry.cap < DAY or retry.give_up_on or retry.only_on:
        return None
    return RetryWords(retry.attempts - 1, retry.delay * 1000, kind)


def read_retry(value: object) -> Retry:
    """A retry policy, checked: a Retry as it is, a number of attempts, or a dict in the words of `RetryWords`."""
    if isinstance(value, Retry):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return Retry(attempts=value)
    if not isinstance(value, Mapping):
        raise InvalidOption(
            f"retry: expected a Retry, a number of attempts or a dict, got {type(value).__name__}; write retry=3, or "
            "retry=Retry(attempts=3, delay=1)."
        )
    try:
        words = msgspec.convert(dict(value), RetryWords)
    except msgspec.ValidationError as error:
        message = str(error).replace("`", "'")
        raise InvalidOption(f"retry: {message}; its words are max_retries, backoff_ms and backoff_type.") from None
    if words.backoff_type not in ("fixed", "exponential"):
        raise InvalidOption(f"retry: backoff_type {words.backoff_type!r} is neither fixed nor exponential.")
    if words.max_retries < 0:
        raise InvalidOption(f"retry: max_retries {words.max_retries} is less than 0.")
    delay = seconds("retry: backoff_ms", words.backoff_ms) / 1000
    factor = 1 if words.backoff_type == "fixed" else 2
    return Retry(attempts=words.max_retries + 1, delay=delay, factor=factor, cap=max(delay, DAY), jitter=0)


class RetryChange(msgspec.Struct, frozen=True):
    """Fields of a policy that are to change, as a request names them; and the policy that they are by themselves."""

    fields: Mapping[str, Any]
    alone: Retry

    def onto(self, old: Retry | None) -> Retry:
        return self.alone if old is None else changed_policy(old, self.fields)


def changed_policy(old: Retry, fields: Mapping[str, Any]) -> Retry:
    """A policy with other values of these fields. A longer delay raises the cap."""
    # A new object and not a copy with replaced fields: only that checks the values.
    new = Retry(**{**msgspec.structs.asdict(old), **fields})
    raised = "delay" in fields and "cap" not in fields
    return msgspec.structs.replace(new, cap=max(new.cap, new.delay)) if raised else new


def with_whole_policy(changes: Mapping[str, Any], old: Retry | None) -> dict[str, Any]:
    """Changes of settings, in which a changed policy is a whole one."""
    retry = changes.get("retry")
    return {**changes, "retry": retry.onto(old)} if isinstance(retry, RetryChange) else {**changes}


ONCE = Retry(attempts=1)
DEFAULT = Retry()
