"""Filter of runs: its words, defined here once for code, store, API, command line and dashboard.

A word has a line in `QueryWords`, which says of which kind it is and what people read about it, one in `FilterOptions`
and one in `Filter`; and its condition in `stores/reports/filters.py`. By the kind, everything else checks, sends and
shows it. `make generate` writes the words for the dashboard.
"""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, NamedTuple, TypedDict

import msgspec
from msgspec import Meta

from workbell.errors import InvalidOption
from workbell.model.field_types import Name, User, When
from workbell.model.input_fields import FieldFilter, Scalar
from workbell.model.run import Status
from workbell.model.users import UserId

ShortId = Annotated[str, Meta(max_length=40)]


class WordKind(StrEnum):
    """The kind of a word's value."""

    STATUSES = "statuses"
    NAME = "name"
    SCHEDULE = "schedule"  # its name or its id
    USER = "user"
    EVENT = "event"  # its id
    RUN = "run"  # its id
    YES_NO = "yes-no"
    TIME = "time"
    INPUT = "input"  # fields of the input, by dotted paths


class Word(NamedTuple):
    """Description of a filter word: its kind, the help of its option, and the label of its field in the dashboard."""

    kind: WordKind
    help: str
    label: str | None = None  # none: the dashboard keeps the word of an address, but has no field for it
    metavar: str | None = None  # none: that of the kind


class QueryWords(msgspec.Struct, frozen=True, kw_only=True):
    """The words of a query string, in the order in which people see them."""

    status: Annotated[
        list[Status],
        Meta(description="One or more statuses."),
        Word(WordKind.STATUSES, "Only these; may be repeated.", "Status"),
    ] = []
    job: Annotated[Name | None, Word(WordKind.NAME, "Only of this job.", "Job")] = None
    queue: Annotated[Name | None, Word(WordKind.NAME, "Only of this queue.", "Queue")] = None
    tag: Annotated[Name | None, Word(WordKind.NAME, "Only with this tag.", "Tag", "TEXT")] = None
    schedule: Annotated[
        Name | None,
        Meta(description="The name or id of a schedule."),
        Word(WordKind.SCHEDULE, "Only those that this schedule made.", "Schedule"),
    ] = None
    user_id: Annotated[User | None, Word(WordKind.USER, "Only those of this user.", "User")] = None
    target: Annotated[Name | None, Word(WordKind.NAME, "Only for this agent, or label:x.", "Target")] = None
    event: Annotated[ShortId | None, Word(WordKind.EVENT, "Only those that this event made.", "Event id")] = None
    retry_of: Annotated[
        ShortId | None,
        Meta(description="Made by a retry of the run with this id."),
        Word(WordKind.RUN, "Only those that a retry of this run made."),
    ] = None
    retried: Annotated[
        bool | None,
        Meta(description="Whether a run was made by a retry of it."),
        Word(WordKind.YES_NO, "Only those that were retried, or were not.", "Retried"),
    ] = None
    since: Annotated[
        When | None,
        Meta(description="Made at this time or later."),
        Word(WordKind.TIME, "Only created then or later: 2026-11-16T09:00:00Z, or 2h for 2h ago.", "Since"),
    ] = None
    until: Annotated[
        When | None,
        Meta(description="Made before this time."),
        Word(WordKind.TIME, "Only created before then.", "Until"),
    ] = None


class RunWords(QueryWords, frozen=True, kw_only=True):
    """All words, as JSON. A query string has each field of the input by itself."""

    input: Annotated[
        dict[str, str | int | float | bool | None] | None,
        Meta(examples=[{"customer.id": 42}]),
        Word(WordKind.INPUT, "Only with this in the input: customer.id=42; may be repeated.", "Input field"),
    ] = None


class FilterOptions(TypedDict, total=False):
    """Which runs: those that meet every condition. None is no condition."""

    status: str | Sequence[str]
    """One status, or several."""
    job: str | None
    queue: str | None
    tag: str | None
    schedule: str | None
    """Made by this schedule: its name or its id."""
    user_id: UserId | None
    target: str | None
    """For this agent, or this label of agents."""
    event: str | None
    """Made by the event with this id."""
    retry_of: str | None
    """Made by a retry of the run with this id."""
    retried: bool | None
    """Whether there is a run that was made by a retry of this one."""
    since: datetime | None
    """Made at this time or later, by the clock of the process that made them."""
    until: datetime | None
    """Made before this time."""
    input: Mapping[str, Scalar] | None
    """Fields of the input, by dotted paths: `{"customer.id": 42}`."""


class Filter(NamedTuple):
    """Which runs to list, for the store: newest first, `limit` at a time, `before` the id where the last page ended."""

    tenant: str | None
    status: Sequence[Status] = ()
    job: str | None = None
    queue: str | None = None
    tag: str | None = None
    schedule: str | None = None  # its id
    user_id: UserId | None = None
    target: str | None = None
    event: str | None = None
    retry_of: str | None = None  # made to repeat this run
    retried: bool | None = None  # whether there is a run that was made to repeat it: not asked by `runs.list`
    since: datetime | None = None  # made then or later, by their ids
    until: datetime | None = None  # made before
    input: Sequence[FieldFilter] = ()  # for reports only
    # Not words: what the caller adds.
    before: str | None = None
    limit: int = 100
    lane_key: str | None = None  # of the value of the job's key, or of one endpoint


def _words() -> dict[str, Word]:
    hints = typing.get_type_hints(RunWords, include_extras=True)
    return {
        name: next(part for part in hints[name].__metadata__ if isinstance(part, Word))
        for name in RunWords.__struct_fields__
    }


WORDS: Mapping[str, Word] = _words()


def names_of(*kinds: WordKind) -> tuple[str, ...]:
    """The names of the words of some kinds."""
    return tuple(name for name, word in WORDS.items() if word.kind in kinds)


def check_names(given: Mapping[str, Any]) -> None:
    unknown = sorted(set(given) - set(WORDS))
    if unknown:
        raise InvalidOption(f"Unknown word {unknown[0]!r:.60} in a filter; the words are {', '.join(WORDS)}.")
