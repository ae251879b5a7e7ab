"""The cache of chart data: shared by threads and event loops, and one read for simultaneous callers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from workbell import InvalidOption, Workbell
from workbell.errors import StoreUnavailable
from workbell.model.tally import Tally
from workbell.model.tally_chart import TallyChart
from workbell.process import verb_threads
from workbell.runs.tally_chart import step_of
from workbell.testing.sqlite_files import SqliteFiles

pytestmark = pytest.mark.anyio
DEADLINE = 30.0


class Sums:
    """`store.tallies.sum`, counted; it waits for `go`, and raises `error` if there is one."""

    def __init__(self, bell: Workbell, monkeypatch: pytest.MonkeyPatch) -> None:
        self._sum = bell.store.tallies.sum
        self.spans: list[float] = []  # seconds that each read went back
        self.begun, self.go = threading.Event(), threading.Event()
        self.error: Exception | None = None
        self._clock = bell.store.clock
        self.go.set()
        monkeypatch.setattr(bell.store.tallies, "sum", self)

    def __call__(self, tenant: str, **options: Any) -> Any:
        self.spans.append((self._clock.now() - options["since"]).total_seconds())
        self.begun.set()
        assert self.go.wait(DEADLINE)
        if self.error is not None:
            raise self.error
        return self._sum(tenant, **options)


@pytest.fixture
def bell(sqlite_files: SqliteFiles, tmp_path: Any) -> Iterator[Workbell]:
    sqlite_files.make(tmp_path / "workbell.db")
    with Workbell(f"sqlite:///{tmp_path}/workbell.db") as bell:
        now = bell.store.clock.now().replace(second=0, microsecond=0)
        bell.store.tallies.add(
            [Tally(minute=now, tenant="default", queue="q", job="send", status="succeeded", count=3)]
        )
        yield bell


@pytest.fixture
def sums(bell: Workbell, monkeypatch: pytest.MonkeyPatch) -> Sums:
    return Sums(bell, monkeypatch)


def succeeded(chart: TallyChart) -> int:
    return sum(step.succeeded for step in chart.items)


def test_steps_are_no_more_than_a_chart_can_show() -> None:
    for minutes in range(1, 10_081):
        step = step_of(minutes)
        assert minutes * 60 / step + 1 <= 120, minutes
    assert [step_of(minutes) // 60 for minutes in (60, 360, 1440, 10_080)] == [1, 5, 15, 90]


async def test_sync_and_async_share_the_cache(bell: Workbell, sums: Sums) -> None:
    charts = [bell.runs.tallies(), await bell.runs.atallies(), await asyncio.to_thread(bell.runs.tallies)]
    assert [succeeded(chart) for chart in charts] == [3, 3, 3]
    assert sums.spans[0] >= 3600
    assert max(sums.spans[1:]) < 240, "only what is not over is read again"


async def test_another_tenant_shares_no_numbers(bell: Workbell) -> None:
    assert succeeded(await bell.runs.atallies()) == 3
    assert succeeded(await bell.for_tenant("other").runs.atallies()) == 0
    assert succeeded(await bell.runs.atallies(job="other")) == 0
    assert succeeded(await bell.runs.atallies(queue="q")) == 3


async def test_simultaneous_callers_share_one_read(bell: Workbell, sums: Sums) -> None:
    """And take one thread: the others are there for other verbs."""
    sums.go.clear()
    calls = [asyncio.ensure_future(bell.runs.atallies()) for _ in range(50)]
    assert await asyncio.to_thread(sums.begun.wait, DEADLINE)
    assert await bell.aruns() == [], "another verb finds a thread"
    calls[0].cancel()  # it leads, and the others do not end with it
    sums.go.set()
    charts = await asyncio.gather(*calls[1:])
    assert len(sums.spans) == 1
    assert {succeeded(chart) for chart in charts} == {3}
    await bell.runs.atallies()
    assert len(sums.spans) == 2, "a later caller reads again"


async def test_a_caller_that_leaves_before_the_read_begins(bell: Workbell, sums: Sums) -> None:
    """The read is for the others, too."""
    free, pool = threading.Event(), bell.runtime.threads.pool
    for _ in range(verb_threads.MOST):
        pool.submit(free.wait, DEADLINE)
    first, second = (asyncio.ensure_future(bell.runs.atallies()) for _ in range(2))
    await asyncio.sleep(0)  # both have asked
    first.cancel()
    await asyncio.wait([first])
    free.set()
    assert succeeded(await second) == 3
    assert len(sums.spans) == 1


async def test_an_error_is_for_those_who_waited_and_is_not_cached(bell: Workbell, sums: Sums) -> None:
    sums.error = StoreUnavailable("gone")
    for outcome in await asyncio.gather(bell.runs.atallies(), bell.runs.atallies(), return_exceptions=True):
        assert outcome is sums.error
    with pytest.raises(StoreUnavailable):
        bell.runs.tallies()
    sums.error = None
    assert succeeded(await bell.runs.atallies()) == succeeded(bell.runs.tallies()) == 3


def test_threads_that_read_one_chart_wait_for_each_other(bell: Workbell, sums: Sums) -> None:
    """One reads all of it; the others read what is not over."""
    sums.go.clear()
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(succeeded(bell.runs.tallies()))) for _ in range(8)]
    for thread in threads:
        thread.start()
    assert sums.begun.wait(DEADLINE)
    sums.go.set()
    for thread in threads:
        thread.join(DEADLINE)
    assert found == [3] * 8
    assert sum(span >= 3600 for span in sums.spans) == 1


@pytest.mark.parametrize("minutes", [0, -1, 10_081])
async def test_a_span_that_no_chart_has(bell: Workbell, minutes: int) -> None:
    with pytest.raises(InvalidOption, match=f"minutes: {minutes} is not from 1 to 10080"):
        bell.runs.tallies(minutes)
    with pytest.raises(InvalidOption, match="minutes"):
        await bell.runs.atallies(minutes)
