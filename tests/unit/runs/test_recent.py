"""Recent runs of a job: which are measured, and the quantiles of their durations."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from workbell.model.ended_run import EndedRun
from workbell.model.run import Status
from workbell.runs.recent import quantile, recent_runs

NOW = datetime(2030, 1, 1, 12, 34, 56, tzinfo=UTC)


def test_quantiles_are_values_that_were_measured() -> None:
    hundred = [float(number) for number in range(1, 101)]
    assert (quantile(hundred, 50), quantile(hundred, 95)) == (50, 95)
    assert (quantile([7.0], 50), quantile([7.0], 95), quantile([], 50)) == (7, 7, None)
    assert (quantile([1.0, 2.0], 50), quantile([1.0, 2.0], 95), quantile([1.0, 2.0, 3.0], 50)) == (1, 2, 2)


@given(st.lists(st.floats(0, 1e9), min_size=1), st.integers(1, 100))
def test_a_quantile_is_the_smallest_that_so_many_do_not_exceed(values: list[float], percent: int) -> None:
    values.sort()
    found = quantile(values, percent)
    assert found in values
    assert 100 * sum(value <= found for value in values) >= percent * len(values)
    assert 100 * sum(value < found for value in values) < percent * len(values)


def test_what_succeeded_or_failed_is_measured() -> None:
    seconds = {Status.SUCCEEDED: (3, 1, 2), Status.FAILED: (90,), Status.CANCELED: (80,)}
    ended = [
        EndedRun("id", status, 1, NOW, NOW + timedelta(seconds=taken))
        for status in seconds
        for taken in seconds[status]
    ]
    found = recent_runs("send", ended, 2)
    assert (found.count, found.failed, found.since, len(found.runs)) == (4, 1, NOW + timedelta(seconds=1), 2)
    assert (found.p50, found.p95, found.longest) == (2.0, 90.0, 90.0)
    assert (found.runs[0].status, found.runs[0].duration) == ("succeeded", 3.0)
