"""Times and spans from outside: which are taken, and what is said about the others."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from workbell.errors import InvalidOption
from workbell.model.clock import ManualClock, SystemClock, aware, seconds, span

EAST = timezone(timedelta(hours=5, minutes=30))


def test_a_time_is_taken_over_in_utc() -> None:
    given = datetime(2030, 1, 1, 5, 30, tzinfo=EAST)
    assert aware("run_at", given) == given
    assert aware("run_at", given).tzinfo is UTC


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (datetime(2030, 1, 1), "has no time zone"),  # noqa: DTZ001  that is the point
        ("2030-01-01", "expected a datetime, got str"),
        (None, "expected a datetime, got NoneType"),
        (1.5, "expected a datetime, got float"),
        (datetime.max.replace(tzinfo=timezone(timedelta(hours=-1))), "outside the years"),
    ],
)
def test_a_time_that_names_no_instant_is_refused(value: Any, says: str) -> None:
    with pytest.raises(InvalidOption, match=says) as refused:
        aware("run_at", value)
    assert str(refused.value).startswith("run_at: ")


@pytest.mark.parametrize(
    ("value", "number"),
    [(0, 0.0), (1, 1.0), (0.5, 0.5), (timedelta(minutes=1), 60.0), (3_153_600_000, 3_153_600_000.0)],
)
def test_spans_are_seconds_or_timedeltas(value: float | timedelta, number: float) -> None:
    assert seconds("delay", value) == number
    assert type(seconds("delay", value)) is float
    assert span("delay", value) == timedelta(seconds=number)


@pytest.mark.parametrize(
    "value",
    [-1, -0.001, float("nan"), float("inf"), 3_153_600_001, timedelta(seconds=-1), timedelta.max, True, "5", None, [1]],
    ids=repr,
)
def test_spans_that_cannot_be_used_are_refused(value: Any) -> None:
    for reader in (seconds, span):
        with pytest.raises(InvalidOption, match=r"^delay: .*\.$"):
            reader("delay", value)


def test_the_manual_clock_moves_only_when_told() -> None:
    clock = ManualClock(datetime(2030, 1, 1, tzinfo=EAST))
    start = clock.now()
    assert clock.now() == start
    assert clock.monotonic() == 0
    assert clock.advance(5, hours=1) == start + timedelta(hours=1, seconds=5)
    assert clock.monotonic() == 3605


def test_the_system_clock_takes_over_the_time_of_the_store() -> None:
    """A wall clock that is wrong here does not matter: the store's time rules."""
    clock = SystemClock()
    before = clock.monotonic()
    moved = clock.set(clock.now() + timedelta(hours=1))
    assert timedelta(minutes=59) < moved <= timedelta(hours=1)
    assert clock.now() - datetime.now(UTC) > timedelta(minutes=59)
    assert clock.monotonic() - before < 1800  # the monotonic clock is not moved with it
