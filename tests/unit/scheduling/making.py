"""Schedules made by hand, decided upon step by step, and what came of it in a short form."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from workbell.model.ids import new_id
from workbell.model.run import NewRun
from workbell.model.run_defaults import Maker
from workbell.model.schedule import Schedule, ScheduleChange, ScheduleKind, ScheduleOptions, Tick
from workbell.scheduling.control import begin
from workbell.scheduling.decide import decide
from workbell.scheduling.request import request_for
from workbell.scheduling.rule import rule_of

DAY = datetime(2030, 1, 7, tzinfo=UTC)  # a Monday
ID = "01890000-0000-7000-8000-000000000001"
BLOCKER = "01890000-0000-7000-8000-00000000000b"  # a run that is in the way
Fate = tuple[str, str, int]


def at(clock: str, day: int = 0) -> datetime:
    """A time of the day of the story: `at("03:00")`, `at("03:00:01.5")`, the next day `at("03:00", 1)`."""
    return datetime.combine(
        (DAY + timedelta(days=day)).date(), datetime.fromisoformat(f"2030-01-07T{clock}").time(), UTC
    )


def show(time: datetime | None) -> str | None:
    """The other way round; another day is a number in front."""
    if time is None:
        return None
    days = (time - DAY).days
    clock = time.strftime("%H:%M:%S").removesuffix(":00")
    return f"{days}d {clock}" if days else clock


def schedule(
    expression: str = "0 * * * *", *, declared: str = "00:30", timezone: str = "UTC", **options: Any
) -> Schedule:
    """A cron schedule (or a `once`, given a time with a `T`) as it is right after it was declared."""
    kind = ScheduleKind.ONCE if "T" in expression else ScheduleKind.CRON
    made = Schedule(
        id=ID,
        name="nightly",
        job="work",
        kind=kind,
        expression=expression,
        timezone=timezone,
        options=msgspec.convert(options, ScheduleOptions),
        created_at=at(declared),
        updated_at=at(declared),
    )
    return begin(made, at(declared)).schedule


class Story:
    """A schedule with one scheduler: `look` as often as told; nothing is stored but what it needs itself."""

    def __init__(self, first: Schedule) -> None:
        self.now = first
        self.ledger: list[Tick] = []
        self.runs: list[NewRun] = []
        self.last: ScheduleChange | None = None

    def look(self, when: datetime, *, busy: bool = False) -> list[Fate]:
        """What became of ticks: outcome, from when (and until when), how many."""
        change = decide(self.now, rule_of(self.now), when, blocker=BLOCKER if busy else None, make_run=make_run)
        assert change.expected == self.now.version
        self.now = msgspec.structs.replace(change.schedule, version=self.now.version + 1)
        self.ledger += change.ticks
        self.runs += change.runs
        self.last = change
        return [fate(tick) for tick in change.ticks]

    @property
    def due(self) -> list[str | None]:
        """When the runs of the last look are due."""
        assert self.last is not None
        return [show(request.run.scheduled_for) for request in self.last.runs]

    @property
    def reasons(self) -> list[str | None]:
        assert self.last is not None
        return [tick.reason for tick in self.last.ticks]


def fate(tick: Tick) -> Fate:
    span = f"{show(tick.due)}" if tick.until is None else f"{show(tick.due)}–{show(tick.until)}"
    return tick.outcome.value, span, tick.count


def make_run(of: Schedule, due: datetime, now: datetime) -> NewRun:
    return request_for(of, due, now, Maker("host/1/0"))


def another(first: Schedule, **fields: Any) -> Schedule:
    return msgspec.structs.replace(first, id=new_id(), **fields)
