"""Changes of a schedule: its present settings, in the words of `put`, with the new ones. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from workbell.errors import InvalidOption
from workbell.model.schedule import Schedule, ScheduleKind
from workbell.scheduling.settings import ScheduleSettings
from workbell.timing import Interval, timing_options

WHEN = ("cron", "every", "at")


def changed(schedule: Schedule, given: Mapping[str, Any]) -> ScheduleSettings:
    """All settings of a schedule with those that are given; None takes one back to its default."""
    known = _settings_of(schedule, when=not any(word in given for word in WHEN))
    if "every" in given and schedule.kind is ScheduleKind.INTERVAL:
        known["anchor"] = Interval.parse(schedule.expression).anchor
    return cast(ScheduleSettings, {word: value for word, value in {**known, **given}.items() if value is not None})


def _settings_of(schedule: Schedule, *, when: bool) -> dict[str, Any]:
    """With its URLs as they are stored."""
    said = msgspec.structs.asdict(schedule.options)
    said |= {"timezone": schedule.timezone, "input": schedule.input, "enabled": schedule.enabled}
    return said | (timing_options(schedule.kind.value, schedule.expression) if when else {})


def check_changeable(schedule: Schedule) -> None:
    """Raise if a schedule cannot be changed word by word."""
    kind, _, project = schedule.source.partition(":")
    if kind in ("code", "file"):
        where = "in the code" if kind == "code" else "in a job file"
        raise InvalidOption(
            f"schedule {schedule.name}: it is declared {where} of {project!r}, and would soon be as before; change it "
            "there, or put another. It can be paused here."
        )
    if schedule.unreadable is not None:
        raise InvalidOption(
            f"schedule {schedule.name}: its settings in the store cannot be read, so those that are not named would be "
            "lost; put it as a whole."
        )
