"""Schedules in plain words."""

from __future__ import annotations

import pytest

from workbell.timing.cron import Cron
from workbell.timing.timing import read_timing


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("*/5 9-17 * * MON-FRI", "every 5 minutes, 09:00–17:59, Monday to Friday"),
        ("0 3 * * *", "at 03:00, every day"),
        ("*/30 * * * * *", "every 30 seconds"),
        ("* * * * * *", "every second"),
        ("* * * * *", "every minute"),
        ("0 * * * *", "every hour"),
        ("7 * * * *", "every hour at minute 7"),
        ("30 7 * * * *", "every hour at minute 7 and second 30"),
        ("15 */2 * * *", "every 2 hours at minute 15"),
        ("15,45 8-18 * * MON-FRI", "at minutes 15 and 45, 08:00–18:59, Monday to Friday"),
        ("0,30 22,23 * * *", "at 22:00, 22:30, 23:00 and 23:30, every day"),
        ("5 4 3 * * *", "at 03:04:05, every day"),
        ("*/10 30 2-4 * * *", "every 10 seconds, in minute 30, 02:00–04:59"),
        ("1,2,3,9 0 22-6 * * *", "at seconds 1–3 and 9, in minute 0, 22:00–06:59, every day"),
        ("*/7 * * * *", "at minutes 0, 7, 14, 21, 28, 35, 42, 49 and 56, every day"),
        ("* 1,4,7 * * *", "every minute, in hours 1, 4 and 7"),
        ("0 0 1,15 * *", "at 00:00, on days 1 and 15 of the month"),
        ("0 0 L * *", "at 00:00, on the last day of the month"),
        ("0 0 L-3,LW,15W * *",
         "at 00:00, on the 3rd day before the last, the last working day and the working day nearest to day 15 "
         "of the month"),
        ("0 0 13 * FRI", "at 00:00, on day 13 of the month or on Friday"),
        ("0 0 */10 * MON", "at 00:00, on days 1, 11, 21 and 31 of the month if that is Monday"),
        ("0 0 1-31 * MON", "at 00:00, every day"),
        ("0 0 * * 1-7", "at 00:00, every day"),
        ("0 0 * * SAT,SUN", "at 00:00, Saturday and Sunday"),
        ("0 0 * * 0,3", "at 00:00, Wednesday and Sunday"),
        ("0 0 * * FRI-MON", "at 00:00, Friday to Monday"),
        ("0 0 * * 1,3,5", "at 00:00, Monday, Wednesday and Friday"),
        ("0 0 * * FRI#2,5L", "at 00:00, the second Friday and the last Friday of the month"),
        ("0 0 1 1,7 *", "at 00:00, on day 1 of the month, in January and July"),
        ("0 0 * NOV-FEB *", "at 00:00, every day, in November to February"),
        ("@weekly", "at 00:00, Sunday"),
    ],
)  # fmt: skip
def test_cron(expression: str, said: str) -> None:
    assert Cron(expression, "Europe/Paris").describe() == f"{said}, Europe/Paris"


@pytest.mark.parametrize(
    ("kind", "expression", "said"),
    [
        ("interval", "1h30m from 2026-11-16T00:00:00Z", "every 1 h 30 min from 2026-11-16 00:00 UTC"),
        ("interval", "5m from 2026-11-16T01:00:07+01:00", "every 5 min from 2026-11-16 00:00:07 UTC"),
        ("interval", "2d1.5s from 2026-11-16T00:00:00Z", "every 2 d 1.5 s from 2026-11-16 00:00 UTC"),
        ("once", "2026-11-16T09:00:00Z", "once, at 2026-11-16 09:00:00 UTC"),
        ("cron", "*/30 * * * * *", "every 30 seconds, UTC"),
    ],
)
def test_kinds(kind: str, expression: str, said: str) -> None:
    assert read_timing(kind, expression, "UTC").describe() == said
