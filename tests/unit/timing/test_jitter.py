"""Jitter: the same for a schedule and a tick, and evenly spread (F3)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from workbell.errors import JobsError
from workbell.timing.jitter import jitter

DUE = datetime(2026, 11, 16, tzinfo=UTC)


def test_it_depends_on_schedule_and_instant_alone() -> None:
    assert jitter("a", DUE, 60) == jitter("a", DUE.astimezone(ZoneInfo("Asia/Tokyo")), 60)
    assert jitter("a", DUE, 60) != jitter("b", DUE, 60)
    assert jitter("a", DUE, 60) != jitter("a", DUE + timedelta(seconds=1), 60)
    # A value known by heart, because another version must draw the same one during a deploy.
    assert jitter("nightly", DUE, 3600) == timedelta(seconds=3260.725113)


def test_it_is_spread_evenly_below_its_span() -> None:
    drawn = [jitter("nightly", DUE + timedelta(minutes=number), 10) for number in range(10_000)]
    assert all(timedelta(0) <= each < timedelta(seconds=10) for each in drawn)
    shares = [sum(int(each.total_seconds()) == second for each in drawn) for second in range(10)]
    assert all(850 < share < 1150 for share in shares)
    assert len(set(drawn)) > 9900


def test_no_span_is_no_jitter() -> None:
    assert jitter("a", DUE, 0) == timedelta(0)
    assert jitter("a", DUE, 0.000_001) == timedelta(0)


@pytest.mark.parametrize("span", [-1, float("nan"), float("inf")])
def test_spans_that_are_refused(span: float) -> None:
    with pytest.raises(JobsError, match="jitter"):
        jitter("a", DUE, span)


def test_an_odd_id_is_only_a_text() -> None:
    assert jitter("\ud800", DUE, 60) >= timedelta(0)
