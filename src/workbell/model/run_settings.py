"""Run settings, as code, job files, schedules and triggers give them; each is checked when given."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypedDict

from workbell.errors import InvalidOption
from workbell.model.clock import seconds, time_limit
from workbell.model.job import name
from workbell.model.retry import read_retry
from workbell.model.run_defaults import NO_DEFAULTS, RunDefaults
from workbell.model.users import MOST, UserId

PRIORITIES = range(-100, 101)
_NUMBER = re.compile(r"0|[1-9][0-9]{0,18}")
_SIGNED = re.compile(r"[-+][0-9]+")


class RunSettings(TypedDict, total=False):
    """Options of all runs that a job, a trigger or a schedule makes.

    The nearest to a run counts: those of the run itself, then its schedule or trigger, then its job.
    """

    priority: int | None
    """From -100 to 100; higher first."""
    target: str | None
    """Which agent is to run them."""
    tag: str | None
    """A word to find runs by."""
    replace_tag: bool | None
    """A new run cancels those of the same tag that have not started."""
    user_id: UserId | None
    """Whom the runs belong to: a number or a text; 0 is the system."""
    persistent: bool | None
    """False: if the process that made a run is restarted before the run starts, the run is canceled."""
    auto_reschedule: float | timedelta | None
    """If a run fails for good, make a new one after this many seconds."""
    remove_delay: float | timedelta | None
    """How long a run stays in history after it has ended."""
    expires: float | timedelta | None
    """A run that has not started so long after it was due is canceled."""


def read_priority(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value not in PRIORITIES:
        raise InvalidOption(f"priority: {value!r} is not a whole number from -100 to 100.")
    return value


def read_user(value: object) -> UserId:
    """An id, checked. The text of a number is that number: URLs and command lines have only texts."""
    if isinstance(value, str):
        text = name("user_id", value, InvalidOption)
        if _NUMBER.fullmatch(text) and int(text) < MOST:
            return int(text)
        if not _SIGNED.fullmatch(text):
            return text
    elif isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST:
        return value
    raise InvalidOption(f"user_id: {value!r:.60} is neither a whole number from 0 nor a text such as a UUID.")


def read_flag(option: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise InvalidOption(f"{option}: expected True or False, got {type(value).__name__}.")
    return value


def _read_name(option: str, value: object) -> str:
    return name(option, value, InvalidOption)


def _read_expiry(value: Any) -> float:
    if isinstance(value, datetime):
        raise InvalidOption("expires: here it is a span from when each run is due, in seconds; a time is for one run.")
    return time_limit("expires", value)


READERS: dict[str, Callable[[Any], Any]] = {
    "queue": partial(_read_name, "queue"),
    "priority": read_priority,
    "retry": read_retry,
    "timeout": partial(time_limit, "timeout"),
    "target": partial(_read_name, "target"),
    "tag": partial(_read_name, "tag"),
    "replace_tag": partial(read_flag, "replace_tag"),
    "user_id": read_user,
    "persistent": partial(read_flag, "persistent"),
    "auto_reschedule": partial(seconds, "auto_reschedule"),
    "remove_delay": partial(seconds, "remove_delay"),
    "expires": _read_expiry,
}
SETTINGS = tuple(RunSettings.__annotations__)  # those that every level has by these names


def read_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """The words of these that are options of runs, checked; None says nothing."""
    return {word: read(value) for word, read in READERS.items() if (value := given.get(word)) is not None}


def read_defaults(given: Mapping[str, Any]) -> RunDefaults:
    said = read_settings(given)
    return RunDefaults(**said) if said else NO_DEFAULTS


def check_tag(said: RunDefaults, below: RunDefaults) -> None:
    """Raise if the tag that is to be replaced is named neither here nor on the level below."""
    if said.replace_tag and said.tag is None and below.tag is None:
        raise InvalidOption("replace_tag: there is no tag; give one with tag=.")
