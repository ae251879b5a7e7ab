"""Settings of a job file: a reader for each, which raises JobsError for an invalid value."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any, TypeVar

from workbell.errors import InvalidEvent, JobsError
from workbell.model.alert import URLS
from workbell.model.clock import seconds
from workbell.model.json_text import encode
from workbell.model.limit import Limits
from workbell.model.patterns import check_pattern
from workbell.model.run import Outside
from workbell.model.run_settings import READERS as RUN_READERS
from workbell.model.schedule import CatchUp, Overlap
from workbell.timing.cron import Cron
from workbell.timing.window import Window
from workbell.timing.zones import resolve_timezone

Word = TypeVar("Word", bound=StrEnum)

EXAMPLE = 'for example schedule = "0 3 * * *"'
EVENT_EXAMPLE = 'on = "posts.created"'


def read_schedule(value: Any, timezone: str) -> str:
    if not isinstance(value, str):
        raise JobsError(f"schedule: expected cron text, got {_kind(value)}; write {EXAMPLE}.")
    if not value.strip():
        raise JobsError(f"schedule: it is empty; write {EXAMPLE}.")
    Cron(value, timezone)
    return value


def _read_on(value: Any) -> tuple[str, ...]:
    """Read one pattern of events, or a list of them."""
    patterns = [value] if isinstance(value, str) else value
    if not isinstance(patterns, list | tuple) or not patterns or not all(isinstance(one, str) for one in patterns):
        raise JobsError(
            f"on: expected a pattern of events, or a list of them, got {_kind(value)}; write {EVENT_EXAMPLE}."
        )
    for index, pattern in enumerate(patterns):
        try:
            check_pattern(pattern)
        except InvalidEvent as error:
            raise JobsError(f"on: {error}") from error
        if pattern in patterns[:index]:
            raise JobsError(f"on: the pattern {pattern!r} is there twice; once is enough.")
    return tuple(patterns)


def read_timezone(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise JobsError(f'timezone: expected a name such as "Europe/Paris", got {_kind(value)}.')
    resolve_timezone(value)
    return value


def read_window(value: Any, timezone: str) -> tuple[str, str]:
    if not isinstance(value, tuple | list) or len(value) != 2 or not all(isinstance(time, str) for time in value):
        raise JobsError(f'window: expected two times such as ("02:00", "06:00"), got {_kind(value)}.')
    Window.parse(value[0], value[1], timezone)
    return value[0], value[1]


def _read_word(kind: type[Word], setting: str) -> Callable[[Any], Word]:
    def read(value: Any) -> Word:
        try:
            return kind(value)
        except ValueError:
            raise JobsError(f"{setting}: {value!r} is none of {', '.join(kind)}.") from None

    return read


def _read_span(setting: str) -> Callable[[Any], float]:
    return lambda value: seconds(setting, value)


def _read_enabled(value: Any) -> bool:
    if not isinstance(value, bool):
        raise JobsError(f"enabled: expected True or False, got {_kind(value)}.")
    return value


def _read_input(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise JobsError(f"input: expected a dict of arguments for run, got {_kind(value)}.")
    if not all(isinstance(key, str) for key in value):
        raise JobsError("input: its keys must be names of arguments of run.")
    encode("input", value)
    return value


def _read_description(value: Any) -> str:
    if not isinstance(value, str):
        raise JobsError(f"description: expected a text, got {_kind(value)}.")
    return value.strip()


def _read_limit(setting: str) -> Callable[[Any], Any]:
    """Reader of one setting about limits; their combination is checked when all are read."""

    def read(value: Any) -> Any:
        if setting.endswith("_key"):
            word = setting.removesuffix("_key")
            Limits(**{word: 1 if word == "concurrency" else "1/s", setting: value}).checked()
        else:
            Limits(**{setting: value}).checked()
        return value

    return read


def _kind(value: Any) -> str:
    return "None" if value is None else f"{type(value).__name__} {value!r}"[:80]


# Settings that are read one by one. Read together are schedule, window and timezone, and those of isolation; URLs need
# the setting webhook_allow.
READERS: dict[str, Callable[[Any], Any]] = {
    "outside": _read_word(Outside, "outside"),
    "overlap": _read_word(Overlap, "overlap"),
    "catch_up": _read_word(CatchUp, "catch_up"),
    "jitter": _read_span("jitter"),
    **RUN_READERS,
    "concurrency": _read_limit("concurrency"),
    "concurrency_key": _read_limit("concurrency_key"),
    "rate": _read_limit("rate"),
    "rate_key": _read_limit("rate_key"),
    "enabled": _read_enabled,
    "input": _read_input,
    "description": _read_description,
    "on": _read_on,
}
ISOLATION = ("isolate", "memory_limit", "cpu_limit")
SETTINGS = ("schedule", "timezone", "window", *READERS, *ISOLATION, *URLS)
# Settings that need a schedule.
OF_TICKS = ("timezone", "window", "outside", "overlap", "catch_up", "jitter", "input")
# Common words: a name that is merely close to one of them is not reported as misspelt.
NOT_GUESSED = frozenset({"input", "on", "tag", "target", "user_id", "expires"})
