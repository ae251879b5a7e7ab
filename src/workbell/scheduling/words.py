"""A schedule in plain words."""

from __future__ import annotations

from workbell.errors import JobsError
from workbell.model.schedule import Schedule
from workbell.scheduling.rule import rule_of


def in_words(schedule: Schedule) -> str:
    """When a schedule ticks: `every 5 minutes, Europe/Paris`; its expression, where that cannot be read."""
    try:
        words = rule_of(schedule).timing.describe()
    except JobsError:
        return schedule.expression
    window = schedule.options.window
    return words if window is None else f"{words}; runs start {window[0]}–{window[1]}"
