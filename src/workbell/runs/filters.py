"""Filters of runs: the words of `bell.runs(…)`, checked, for the store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from workbell.errors import InvalidOption
from workbell.model.clock import aware
from workbell.model.ids import is_id
from workbell.model.job import name
from workbell.model.payload_fields import read_fields
from workbell.model.run import Status
from workbell.model.run_filter import WORDS, Filter, FilterOptions, WordKind, check_names, names_of
from workbell.model.run_settings import read_user
from workbell.runs.runtime import Runtime
from workbell.scheduling.find import find_schedule

PAGE = 1000


def read_filter(runtime: Runtime, given: FilterOptions, before: str | None = None, limit: int = 100) -> Filter:
    """The filter for the store. A schedule may be given by its name."""
    check_names(given)
    if not 1 <= limit <= PAGE:
        raise InvalidOption(f"limit: {limit} is not from 1 to {PAGE}.")
    words: dict[str, Any] = {
        word: READ[WORDS[word].kind](word, value) for word, value in given.items() if value is not None
    }
    if before is not None:
        _run("before", before)
    for word in names_of(WordKind.SCHEDULE):  # last: the others need no look into the store
        if word in words and not is_id(words[word]):
            words[word] = find_schedule(runtime.store, runtime.tenant, words[word]).id
    return Filter(runtime.tenant, **words, before=before, limit=limit)


def _name(word: str, value: Any) -> str:
    return name(word, value, InvalidOption)


def _schedule(_word: str, value: Any) -> Any:
    """Its id, or a name that is yet to be found."""
    return value


def _user(_word: str, value: Any) -> Any:
    return read_user(value)


def _event(word: str, value: Any) -> str:
    return _id(word, value, "an event")


def _run(word: str, value: Any) -> str:
    return _id(word, value, "a run")


def _id(word: str, value: Any, owner: str) -> str:
    if not is_id(value):
        raise InvalidOption(f"{word}: {value!r:.60} is no id of {owner}.")
    found: str = value
    return found


def _yes_no(word: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise InvalidOption(f"{word}: expected True or False, got {type(value).__name__}.")
    return value


def _statuses(word: str, value: str | Sequence[str]) -> list[Status]:
    given = value or ()  # an empty text is no condition
    try:
        return [Status(one) for one in ([given] if isinstance(given, str) else given)]
    except ValueError as error:
        raise InvalidOption(f"{word}: {error}; the statuses are {', '.join(Status)}.") from None


def _input(_word: str, value: Any) -> Any:
    return read_fields(value)


READ: dict[WordKind, Callable[[str, Any], Any]] = {
    WordKind.STATUSES: _statuses,
    WordKind.NAME: _name,
    WordKind.SCHEDULE: _schedule,
    WordKind.USER: _user,
    WordKind.EVENT: _event,
    WordKind.RUN: _run,
    WordKind.YES_NO: _yes_no,
    WordKind.TIME: aware,
    WordKind.INPUT: _input,
}
