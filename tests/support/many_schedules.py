"""Schedules of every kind and policy, mixed; for tests in which schedulers are disturbed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

from workbell import Workbell
from workbell.scheduling.schedules import Declaration

START = datetime(2030, 3, 28, 22, 17, 3, tzinfo=UTC)  # three days before a change of clocks in Europe
WEEK = timedelta(days=7)
TIMINGS: list[dict[str, Any]] = [
    {"cron": "* * * * *"},
    {"cron": "*/7 * * * *", "timezone": "Asia/Kathmandu"},
    {"cron": "30 2 * * *", "timezone": "Europe/Paris"},
    {"cron": "0 * * * *", "timezone": "Europe/Paris"},
    {"cron": "0 9-17 * * MON-FRI", "timezone": "America/New_York"},
    {"cron": "*/20 * * * * *"},
    {"every": 90.5},
    {"every": timedelta(hours=5)},
    {"at": START + timedelta(days=2, hours=3)},
    {"cron": "0 3 * * SUN"},
]
POLICIES: list[dict[str, Any]] = [
    {},
    {"overlap": "queue_one"},
    {"overlap": "allow", "catch_up": "all", "catch_up_cap": 3},
    {"overlap": "cancel_previous", "jitter": 30},
    {"catch_up": "none"},
    {"window": ("22:00", "04:00")},
    {"window": ("02:00", "12:00"), "outside": "skip", "overlap": "allow"},
    {"window": ("01:00", "03:00"), "overlap": "queue_one", "catch_up": "all"},
]


def declare_many(bell: Workbell, count: int) -> list[str]:
    """Put so many schedules of the job `work`; their names."""
    pairs = list(product(TIMINGS, POLICIES))
    declarations = []
    for number in range(count):
        timing, policies = pairs[number * 7 % len(pairs)]  # 7 and 80 have no common part: all kinds come early
        settings = timing | policies
        if settings.get("outside") == "skip" and "at" in settings:
            settings.pop("outside")
        declarations.append(Declaration(f"s{number:05}", "work", settings))  # type: ignore[arg-type]
    bell.schedules.put_all(declarations, source="test")
    return [declaration.name for declaration in declarations]
