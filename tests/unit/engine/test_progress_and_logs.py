"""What handlers tell: when it is written, and that nothing of it is lost or overtaken (F6)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from workbell.engine.progress_and_logs import BATCH, MOST_WAITING, PACE, ProgressAndLogs
from workbell.errors import StoreError, StoreUnavailable
from workbell.model.clock import ManualClock
from workbell.model.log_line import LogLine
from workbell.stores.port import Held
from workbell.testing.contracts.making import after

FIRST, SECOND = Held("run-1", 1), Held("run-2", 5)


class Written:
    """A store that notes what is written, and fails when told to."""

    def __init__(self) -> None:
        self.progress: list[tuple[str, str]] = []
        self.batches: list[list[str]] = []
        self.failure: Exception | None = None
        self.lost: set[Held] = set()
        self.logs = SimpleNamespace(add=self._add_logs)
        self.runs = SimpleNamespace(set_progress=self._set_progress)

    def _set_progress(self, held: Held, text: str) -> bool:
        if self.failure is not None:
            raise self.failure
        if held not in self.lost:
            self.progress.append((held.run_id, text))
        return held not in self.lost

    def _add_logs(self, lines: Sequence[tuple[int, LogLine]]) -> int:
        if self.failure is not None:
            raise self.failure
        self.batches.append([line.message for _, line in lines])
        return len(lines)

    @property
    def lines(self) -> list[str]:
        return [message for batch in self.batches for message in batch]


@pytest.fixture
def store() -> Written:
    return Written()


@pytest.fixture
def reports(store: Written, clock: ManualClock) -> ProgressAndLogs:
    gathered: Any = store
    return ProgressAndLogs(gathered, clock)


def line(message: str, held: Held = FIRST) -> tuple[int, LogLine]:
    return held.token, LogLine(held.run_id, 1, 0, after(0), "INFO", message)


class TestProgress:
    def test_at_most_four_writes_a_second_and_the_newest_in_the_end(
        self, reports: ProgressAndLogs, store: Written, clock: ManualClock
    ) -> None:
        for number in range(1000):
            assert reports.progress(FIRST, str(number))
            clock.advance(0.001)
        assert [text for _, text in store.progress] == ["0", "250", "500", "750"]
        reports.settle([FIRST])
        assert store.progress[-1] == ("run-1", "999")
        reports.settle([FIRST])
        reports.flush()
        assert len(store.progress) == 5

    def test_each_run_has_a_pace_of_its_own(self, reports: ProgressAndLogs, store: Written) -> None:
        for held in (FIRST, SECOND, FIRST, SECOND):
            reports.progress(held, "x")
        assert store.progress == [("run-1", "x"), ("run-2", "x")]

    def test_the_duty_writes_what_was_held_back(
        self, reports: ProgressAndLogs, store: Written, clock: ManualClock
    ) -> None:
        reports.progress(FIRST, "1")
        reports.progress(FIRST, "2")
        assert reports.step(clock.now()) == PACE
        assert store.progress == [("run-1", "1")], "too soon"
        clock.advance(PACE)
        reports.step(clock.now())
        assert store.progress[-1] == ("run-1", "2")
        clock.advance(PACE)
        assert reports.step(clock.now()) is None, "and rests when there is nothing left"

    def test_on_an_event_loop_nothing_is_written_at_once(
        self, reports: ProgressAndLogs, store: Written, clock: ManualClock
    ) -> None:
        async def tell() -> bool:
            return reports.progress(FIRST, "1")

        assert asyncio.run(tell())
        assert store.progress == []
        reports.step(clock.now())
        assert store.progress == [("run-1", "1")]

    def test_a_lost_run_is_told_of(self, reports: ProgressAndLogs, store: Written, clock: ManualClock) -> None:
        reports.progress(FIRST, "1")
        store.lost.add(FIRST)
        assert reports.progress(FIRST, "2"), "not known yet"
        clock.advance(PACE)
        assert not reports.progress(FIRST, "3")
        clock.advance(10)
        reports.step(clock.now())

        async def tell() -> bool:
            return reports.progress(FIRST, "4")

        assert not asyncio.run(tell()), "nor is it forgotten soon"
        clock.advance(120)
        assert reports.step(clock.now()) is None

    def test_a_store_that_is_away_does_not_fail_the_handler(
        self, reports: ProgressAndLogs, store: Written, clock: ManualClock
    ) -> None:
        store.failure = StoreUnavailable("away")
        assert reports.progress(FIRST, "1")
        clock.advance(PACE)
        with pytest.raises(StoreUnavailable):
            reports.step(clock.now())
        reports.settle([FIRST])
        store.failure = None
        reports.settle([FIRST])
        assert store.progress == [("run-1", "1")]


class TestLines:
    def test_lines_are_written_in_batches_and_in_order(
        self, reports: ProgressAndLogs, store: Written, clock: ManualClock
    ) -> None:
        for number in range(BATCH + 5):
            reports.save_line(*line(str(number)))
        assert store.batches == [], "no handler waits for that"
        assert reports.step(clock.now()) == PACE
        assert [len(batch) for batch in store.batches] == [BATCH, 5]
        assert store.lines == [str(number) for number in range(BATCH + 5)]
        assert reports.step(clock.now()) is None

    def test_the_duty_is_woken_once(self, reports: ProgressAndLogs, clock: ManualClock) -> None:
        woken: list[int] = []
        reports.waker.wake = lambda: woken.append(1)  # type: ignore[method-assign]
        reports.save_line(*line("1"))
        reports.save_line(*line("2"))
        assert len(woken) == 1
        reports.step(clock.now())
        reports.save_line(*line("3"))
        assert len(woken) == 1, "it looks again by itself"
        reports.step(clock.now())
        reports.step(clock.now())
        reports.save_line(*line("4"))
        assert len(woken) == 2

    def test_they_are_written_before_the_outcome_of_their_run(self, reports: ProgressAndLogs, store: Written) -> None:
        reports.save_line(*line("1"))
        reports.settle([SECOND])
        assert store.batches == []
        reports.settle([SECOND, FIRST])
        assert store.lines == ["1"]

    @pytest.mark.parametrize("failure", [StoreError("refused"), StoreUnavailable("away"), RuntimeError("a mistake")])
    def test_an_outcome_is_never_held_up_by_a_failure(
        self, failure: Exception, reports: ProgressAndLogs, store: Written
    ) -> None:
        reports.save_line(*line("1"))
        reports.progress(FIRST, "1")
        reports.progress(FIRST, "2")
        store.failure = failure
        reports.settle([FIRST])

    def test_lines_wait_while_the_store_is_away(
        self, reports: ProgressAndLogs, store: Written, clock: ManualClock
    ) -> None:
        reports.save_line(*line("1"))
        store.failure = StoreUnavailable("away")
        with pytest.raises(StoreUnavailable):
            reports.step(clock.now())
        reports.flush()
        reports.save_line(*line("2"))
        store.failure = None
        reports.flush()
        assert store.lines == ["1", "2"]

    def test_lines_that_are_refused_are_dropped(
        self, reports: ProgressAndLogs, store: Written, clock: ManualClock
    ) -> None:
        reports.save_line(*line("1"))
        store.failure = StoreError("refused")
        reports.step(clock.now())
        store.failure = None
        reports.save_line(*line("2"))
        reports.step(clock.now())
        assert store.lines == ["2"]

    def test_memory_is_bounded(self, reports: ProgressAndLogs, store: Written, clock: ManualClock) -> None:
        for _ in range(MOST_WAITING + 7):
            reports.save_line(*line("x"))
        assert reports.left_out == 7
        reports.step(clock.now())
        assert (len(store.lines), reports.left_out) == (MOST_WAITING, 0)
