"""Description of a schedule in plain words."""

from __future__ import annotations

from workbell.errors import JobsError
from workbell.model.schedule import Schedule
from workbell.scheduling.rule import ScheduleRule, rule_of


def schedule_in_words(schedule: Schedule) -> str:
    """When a schedule ticks: `every 5 minutes, Europe/Paris`; its expression, where that cannot be read."""
    try:
        return rule_in_words(rule_of(schedule))
    except JobsError:
        return schedule.expression


def rule_in_words(rule: ScheduleRule) -> str:
    words = rule.timing.describe()
    return words if rule.window is None else f"{words}; runs start {str(rule.window).replace('-', '–')}"
