"""Filter options of runs, shared by listing, counting and bulk actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypedDict

from workbell.errors import InvalidOption
from workbell.model.payload_fields import Scalar
from workbell.model.users import UserId


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
    """Fields of the payload, by dotted paths: `{"customer.id": 42}`."""


NAMES = tuple(FilterOptions.__annotations__)


def check_names(given: Mapping[str, Any]) -> None:
    unknown = sorted(set(given) - set(NAMES))
    if unknown:
        raise InvalidOption(f"Unknown word {unknown[0]!r:.60} in a filter; the words are {', '.join(NAMES)}.")
