"""Filters of runs: the words of `bell.runs(…)`, checked, for the store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from workbell.errors import InvalidOption, RunNotFound
from workbell.model.clock import aware
from workbell.model.ids import is_id
from workbell.model.input_fields import read_fields
from workbell.model.job import name
from workbell.model.run import Status
from workbell.model.run_filter import WORDS, Filter, FilterOptions, WordKind, check_names, names_of
from workbell.model.run_settings import read_user
from workbell.runs.lookup import find_run
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
        before = _run_id(runtime, "before", before)
    for word in names_of(WordKind.RUN):  # these last: the others need no look into the store
        if word in words:
            words[word] = _run_id(runtime, word, words[word])
    for word in names_of(WordKind.SCHEDULE):
        if word in words and not is_id(words[word]):
            words[word] = find_schedule(runtime.store, runtime.tenant, words[word]).id
    return Filter(runtime.tenant, **words, before=before, limit=limit)


def _name(word: str, value: Any) -> str:
    return name(word, value, InvalidOption)


def _unresolved(_word: str, value: Any) -> Any:
    """What is yet to be found in the store: a schedule by its name, a run by the id that it was imported with."""
    return value


def _user(_word: str, value: Any) -> Any:
    return read_user(value)


def _event(word: str, value: Any) -> str:
    if not is_id(value):
        raise InvalidOption(f"{word}: {value!r:.60} is no id of an event.")
    found: str = value
    return found


def _run_id(runtime: Runtime, word: str, value: Any) -> str:
    """A UUID as it is: a whole id is a place in the list, also of a run that was removed."""
    if is_id(value):
        found: str = value
        return found
    try:
        return find_run(runtime, value).id
    except RunNotFound:
        raise InvalidOption(f"{word}: {value!r:.60} is no id of a run.") from None


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
    WordKind.SCHEDULE: _unresolved,
    WordKind.USER: _user,
    WordKind.EVENT: _event,
    WordKind.RUN: _unresolved,
    WordKind.YES_NO: _yes_no,
    WordKind.TIME: aware,
    WordKind.INPUT: _input,
}
