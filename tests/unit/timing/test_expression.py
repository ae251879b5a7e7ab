"""Reading cron expressions: the grammar, the days, and errors that name field, reason and remedy (A4, B6)."""

from __future__ import annotations

import copy
import pickle
from datetime import UTC, datetime

import pytest

from workbell.errors import JobsError
from workbell.timing.cron import Cron

START = datetime(2026, 11, 16, 0, 50, tzinfo=UTC)  # a Monday


def days(expression: str, number: int = 3) -> list[str]:
    return [f"{tick:%m-%d}" for tick in Cron(f"0 12 {expression}").ticks(START, number)]


def times(expression: str, number: int = 3) -> list[str]:
    return [f"{tick:%H:%M:%S}" for tick in Cron(expression).ticks(START, number)]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("* * * * *", ["00:51:00", "00:52:00", "00:53:00"]),
        ("*/20 * * * *", ["01:00:00", "01:20:00", "01:40:00"]),
        ("10 * * * *", ["01:10:00", "02:10:00", "03:10:00"]),
        ("55-57 * * * *", ["00:55:00", "00:56:00", "00:57:00"]),
        ("0-30/15 3 * * *", ["03:00:00", "03:15:00", "03:30:00"]),
        ("50/5 * * * *", ["00:55:00", "01:50:00", "01:55:00"]),
        ("5,3 4 * * *", ["04:03:00", "04:05:00", "04:03:00"]),
        ("0 22-1 * * *", ["01:00:00", "22:00:00", "23:00:00"]),
        ("0 22-4/3 * * *", ["01:00:00", "04:00:00", "22:00:00"]),
        ("*/30 * * * * *", ["00:50:30", "00:51:00", "00:51:30"]),
        ("5 4 3 * * *", ["03:04:05", "03:04:05", "03:04:05"]),
        ("\t 07  \t 3 * * * \n", ["03:07:00", "03:07:00", "03:07:00"]),
        ("@hourly", ["01:00:00", "02:00:00", "03:00:00"]),
        ("@Daily", ["00:00:00", "00:00:00", "00:00:00"]),
    ],
)
def test_times(expression: str, expected: list[str]) -> None:
    assert times(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("* * *", ["11-16", "11-17", "11-18"]),
        ("* * 0", ["11-22", "11-29", "12-06"]),
        ("* * 7", ["11-22", "11-29", "12-06"]),
        ("* * sun", ["11-22", "11-29", "12-06"]),
        ("* * 5-7", ["11-20", "11-21", "11-22"]),
        ("* * FRI-MON", ["11-16", "11-20", "11-21"]),
        ("* * 6-0", ["11-21", "11-22", "11-28"]),
        ("* * */3", ["11-18", "11-21", "11-22"]),  # Sunday, Wednesday, Saturday
        ("* * 1/3", ["11-16", "11-19", "11-22"]),  # to the end of the field, which is 7
        ("13 * 5", ["11-20", "11-27", "12-04"]),
        ("20 * MON", ["11-16", "11-20", "11-23"]),  # either: neither starts with a star
        ("*/2 * MON", ["11-23", "12-07", "12-21"]),  # both: one starts with a star
        ("1-31/2 * MON", ["11-16", "11-17", "11-19"]),
        ("? * MON", ["11-16", "11-23", "11-30"]),
        ("20 * ?", ["11-20", "12-20", "01-20"]),
        ("L * *", ["11-30", "12-31", "01-31"]),
        ("L-3 * *", ["11-27", "12-28", "01-28"]),
        ("L-30 * *", ["12-01", "01-01", "03-01"]),
        ("LW * *", ["11-30", "12-31", "01-29"]),
        ("15W * *", ["11-16", "12-15", "01-15"]),
        ("1W * *", ["12-01", "01-01", "02-01"]),
        ("1W 8 *", ["08-02", "08-01", "08-01"]),  # 2027: a Sunday
        ("1W 5 *", ["05-03", "05-01", "05-01"]),  # 2027: a Saturday, and the Friday before is in April
        ("31W 1,10 *", ["01-29", "10-29", "01-31"]),  # both Sundays; not into the next month
        ("31W 2,3 *", ["03-31", "03-31", "03-30"]),  # February has no 31st
        ("1,L * *", ["11-30", "12-01", "12-31"]),
        ("* * 5L", ["11-27", "12-25", "01-29"]),
        ("* * fril", ["11-27", "12-25", "01-29"]),
        ("* * FRI#2", ["12-11", "01-08", "02-12"]),
        ("* * 7#1", ["12-06", "01-03", "02-07"]),
        ("* * 1#5", ["11-30", "03-29", "05-31"]),
        ("* * MON#1,5L", ["11-27", "12-07", "12-25"]),
        ("1 nov-feb *", ["12-01", "01-01", "02-01"]),
        ("1 JAN,3 *", ["01-01", "03-01", "01-01"]),
        ("29 2 *", ["02-29", "02-29", "02-29"]),
        ("30 2 MON", ["02-01", "02-08", "02-15"]),  # the 30th never comes, the Monday does
        ("* 2 5#5", ["02-29", "02-29", "02-29"]),
    ],
)
def test_days(expression: str, expected: list[str]) -> None:
    assert days(expression) == expected


def test_macros_are_what_they_stand_for() -> None:
    for macro, fields in [
        ("@yearly", "0 0 1 1 *"),
        ("@annually", "0 0 1 1 *"),
        ("@monthly", "0 0 1 * *"),
        ("@weekly", "0 0 * * 0"),
        ("@daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        ("@hourly", "0 * * * *"),
    ]:
        assert Cron(macro).ticks(START, 5) == Cron(fields).ticks(START, 5)


@pytest.mark.parametrize(
    ("expression", "field", "reason"),
    [
        ("60 * * * *", "minute", "0 to 59"),
        ("* 24 * * *", "hour", "0 to 23"),
        ("* * 0 * *", "day of month", "1 to 31"),
        ("* * 32 * *", "day of month", "1 to 31"),
        ("* * * 13 *", "month", "JAN to DEC"),
        ("* * * * 8", "weekday", "SUN to SAT"),
        ("60 * * * * *", "second", "0 to 59"),
        ("x * * * *", "minute", "not understood"),
        ("-1 * * * *", "minute", "not understood"),
        ("1-2-3 * * * *", "minute", "not understood"),
        ("1,,2 * * * *", "minute", "missing"),
        ("*/0 * * * *", "minute", "step from 1 to 60"),
        ("*/90 * * * *", "minute", "interval"),
        ("* */25 * * *", "hour", "step from 1 to 24"),
        ("*/x * * * *", "minute", "step"),
        ("? * * * *", "minute", "not understood"),
        ("L * * * *", "minute", "not understood"),
        ("* * 25-5 * *", "day of month", "25-31,1-5"),
        ("* * L-31 * *", "day of month", "L-1 to L-30"),
        ("* * 32W * *", "day of month", "1 to 31"),
        ("* * L/2 * *", "day of month", "not understood"),
        ("* * * * L", "weekday", "SATL"),
        ("* * * * 1#6", "weekday", "#1 to #5"),
        ("* * * * 1#0", "weekday", "#1 to #5"),
        ("* * * * MONDAY", "weekday", "not understood"),
        ("* * * JANUARY *", "month", "not understood"),
        ("0 0 30 2 *", "day of month", "never"),
        ("0 0 31 4,6,9,11 *", "day of month", "never"),
        ("0 0 31W 2 ?", "day of month", "never"),
        ("0 0 L-29 2 *", "day of month", "never"),
        ("0 0 */30 2 FRI#2", "day of month", "never"),  # the 1st and the 31st are no second Friday
    ],
)
def test_an_error_names_expression_field_reason_and_remedy(expression: str, field: str, reason: str) -> None:
    with pytest.raises(JobsError) as caught:
        Cron(expression)
    message = str(caught.value)
    assert message.startswith(f"cron {expression!r}: {field}: ")
    assert reason in message
    assert message.endswith(".")


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("", "no fields"),
        ("* * * *", "4 fields"),
        ("* * * * * * *", "7 fields"),
        ("@every 5m", r"write \*/5 \* \* \* \* for every five minutes; .* every= of @bell.job"),
        ("@reboot", "application starts"),
        ("@sometimes", "@hourly"),
        ("*" * 257, "at most 256"),
        ("\u0663 * * * *", "ASCII"),
        ("\uff15 * * * *", "ASCII"),
        ("* *\u00a0* * *", "ASCII"),
    ],
)
def test_an_expression_that_is_none(expression: str, reason: str) -> None:
    with pytest.raises(JobsError, match=reason):
        Cron(expression)


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(JobsError, match="expected a text"):
        Cron(5)  # type: ignore[arg-type]


def test_the_whole_length_may_be_used() -> None:
    minutes = ",".join(["1-59"] * 48)
    assert len(f"{minutes} * * * *") <= 256
    assert Cron(f"{minutes} * * * *").next(START) == datetime(2026, 11, 16, 0, 51, tzinfo=UTC)


def test_a_schedule_is_a_value() -> None:
    cron = Cron(" 0  3 * * * ", "Europe/Paris")
    assert repr(cron) == "Cron('0 3 * * *', timezone='Europe/Paris')"
    assert str(cron) == cron.expression == "0 3 * * *"
    assert cron == Cron("0 3 * * *", timezone="Europe/Paris")
    assert cron != Cron("0 3 * * *")
    assert cron != "0 3 * * *"
    assert len({cron, copy.deepcopy(cron), pickle.loads(pickle.dumps(cron))}) == 1
