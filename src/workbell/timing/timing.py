"""Timing: the interface of every kind of schedule, and how its stored text is read."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Protocol

from workbell.errors import JobsError
from workbell.timing.cron import Cron
from workbell.timing.instants import shorten
from workbell.timing.interval import Interval
from workbell.timing.once import Once
from workbell.timing.zones import resolve_timezone


class Timing(Protocol):
    """The ticks of a schedule: aware datetimes in, UTC out."""

    def next(self, after: datetime) -> datetime | None:
        """The first tick later than `after`; None if there is none any more."""
        ...

    def latest(self, until: datetime) -> datetime | None:
        """The last tick that is not later than `until`."""
        ...

    def count(self, after: datetime, until: datetime) -> int:
        """How many ticks are later than `after` and not later than `until`, without a walk over them."""
        ...

    def describe(self) -> str:
        """The timing in plain words."""
        ...


def read_timing(kind: str, expression: str, timezone: str) -> Timing:
    """The timing of a schedule as it is stored: its kind, its expression and its zone."""
    resolve_timezone(timezone)
    if kind == "cron":
        return Cron(expression, timezone)
    if kind == "interval":
        return Interval.parse(expression)
    if kind == "once":
        return Once.parse(expression)
    raise _unknown(kind)


def timing_options(kind: str, expression: str) -> dict[str, Any]:
    """A stored timing in the words in which one is given: `cron`, or `every` and `anchor`, or `at`."""
    if kind == "cron":
        return {"cron": expression}
    if kind == "interval":
        found = Interval.parse(expression)
        return {"every": found.every, "anchor": found.anchor}
    if kind == "once":
        return {"at": Once.parse(expression).at}
    raise _unknown(kind)


def _unknown(kind: str) -> JobsError:
    return JobsError(f"schedule kind {shorten(kind)} is unknown; choose once, interval or cron.")
