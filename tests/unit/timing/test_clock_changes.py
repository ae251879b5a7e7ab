"""Daylight saving, one named case at a time (F3): real time with a star in minute or hour, else the wall clock."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from workbell.timing.cron import Cron


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("why", "expression", "zone", "after", "ticks"),
    [
        ("a skipped time fires once, after the gap", "30 2 * * *", "America/New_York", "2026-03-08T06:00",
         ["2026-03-08T07:00", "2026-03-09T06:30"]),
        ("two skipped times are one tick", "0,30 2 * * *", "America/New_York", "2026-03-08T06:00",
         ["2026-03-08T07:00", "2026-03-09T06:00", "2026-03-09T06:30"]),
        ("a skipped time and the end of the gap are one tick", "0 2,3 * * *", "America/New_York", "2026-03-08T06:00",
         ["2026-03-08T07:00", "2026-03-09T06:00", "2026-03-09T07:00"]),
        ("the same with seconds", "15 30 2 * * *", "America/New_York", "2026-03-08T06:00",
         ["2026-03-08T07:00", "2026-03-09T06:30:15"]),
        ("the seconds of a skipped minute are one tick", "*/10 30 2 * * *", "America/New_York", "2026-03-08T06:00",
         ["2026-03-08T07:00", "2026-03-09T06:30", "2026-03-09T06:30:10"]),
        ("real time has no skipped instants", "*/30 2 * * *", "America/New_York", "2026-03-08T06:00",
         ["2026-03-09T06:00", "2026-03-09T06:30"]),
        ("every half hour goes on", "*/30 * * * *", "America/New_York", "2026-03-08T06:20",
         ["2026-03-08T06:30", "2026-03-08T07:00", "2026-03-08T07:30"]),
        ("a repeated time fires the first time", "30 1 * * *", "America/New_York", "2026-11-01T04:00",
         ["2026-11-01T05:30", "2026-11-02T06:30"]),
        ("nor again from within the second pass", "30 1 * * *", "America/New_York", "2026-11-01T06:15",
         ["2026-11-02T06:30"]),
        ("the same with seconds, repeated", "5 30 1 * * *", "America/New_York", "2026-11-01T04:00",
         ["2026-11-01T05:30:05", "2026-11-02T06:30:05"]),
        ("real time fires in both passes", "*/30 1 * * *", "America/New_York", "2026-11-01T05:10",
         ["2026-11-01T05:30", "2026-11-01T06:00", "2026-11-01T06:30", "2026-11-02T06:00"]),
        ("both passes also of a day that comes once a year", "*/30 1 1 11 *", "America/New_York", "2026-11-01T05:31",
         ["2026-11-01T06:00", "2026-11-01T06:30", "2027-11-01T05:00"]),
        ("midnight is skipped", "0 0 * * *", "Asia/Beirut", "2026-03-28T12:00",
         ["2026-03-28T22:00", "2026-03-29T21:00"]),
        ("midnight is skipped in real time", "* 0 * * *", "Asia/Beirut", "2026-03-28T12:00", ["2026-03-29T21:00"]),
        ("midnight is repeated", "30 23 * * *", "Asia/Beirut", "2026-10-24T12:00",
         ["2026-10-24T20:30", "2026-10-25T21:30"]),
        ("half an hour is skipped", "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00",
         ["2026-10-03T15:30", "2026-10-04T15:15"]),
        ("half an hour is repeated", "45 1 * * *", "Australia/Lord_Howe", "2026-04-04T12:00",
         ["2026-04-04T14:45", "2026-04-05T15:15"]),
        ("half an hour is repeated in real time", "*/15 1 * * *", "Australia/Lord_Howe", "2026-04-04T14:35",
         ["2026-04-04T14:45", "2026-04-04T15:00", "2026-04-04T15:15", "2026-04-05T14:30"]),
        ("winter time is the one saved", "30 1 * * *", "Europe/Dublin", "2026-03-28T12:00",
         ["2026-03-29T01:00", "2026-03-30T00:30"]),
        ("a whole day is skipped", "0 9,15 * * *", "Pacific/Apia", "2011-12-29T20:00",
         ["2011-12-30T01:00", "2011-12-30T10:00", "2011-12-30T19:00"]),
        ("a whole day is skipped in real time", "0 */12 * * *", "Pacific/Apia", "2011-12-29T21:00",
         ["2011-12-29T22:00", "2011-12-30T10:00", "2011-12-30T22:00"]),
        ("most of a day is repeated", "0 12 * * *", "Pacific/Kwajalein", "1969-09-29T12:00",
         ["1969-09-30T01:00", "1969-10-02T00:00"]),
    ],
)  # fmt: skip
def test_ticks(why: str, expression: str, zone: str, after: str, ticks: list[str]) -> None:
    cron = Cron(expression, zone)
    expected = [at(text) for text in ticks]
    assert cron.ticks(at(after), len(ticks)) == expected, why
    assert [cron.latest(tick) for tick in expected] == expected
    assert cron.count(at(after), expected[-1]) == len(ticks)


def test_a_question_from_within_a_repeated_hour() -> None:
    """The fold of the datetime says which of the two passes is meant."""
    place, cron = ZoneInfo("America/New_York"), Cron("*/30 * * * *", "America/New_York")
    first, second = (datetime(2026, 11, 1, 1, 15, tzinfo=place, fold=fold) for fold in (0, 1))
    assert cron.next(first) == at("2026-11-01T05:30")
    assert cron.next(second) == at("2026-11-01T06:30")
    assert cron.count(first, second) == 2
