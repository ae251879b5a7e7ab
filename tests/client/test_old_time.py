"""A program without an engine: it asks for the store's time now and then, if its delays depend on it (P13)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.inside.values import OLD_OFFSET as OLD
from tests.support.inside.values import SystemClock
from tests.support.waiting import until
from workbell import Workbell


@pytest.fixture
def asked() -> list[int]:
    return []


@pytest.fixture
def bell(sqlite_url: str, asked: list[int], monkeypatch: pytest.MonkeyPatch) -> Iterator[Workbell]:
    with Workbell(sqlite_url) as bell:

        @bell.job
        def work() -> None: ...

        bell.store.check()
        measure = bell.store.measure_time

        def measured() -> None:
            asked.append(1)
            measure()

        monkeypatch.setattr(bell.store, "measure_time", measured)
        yield bell


def grow_old(bell: Workbell) -> None:
    assert isinstance(bell.store.clock, SystemClock)
    bell.store.clock._measured_at -= OLD + 1


def test_a_delay_has_it_measured_once(bell: Workbell, asked: list[int]) -> None:
    bell.enqueue("work", delay=5)
    assert asked == []  # it has just begun
    grow_old(bell)
    bell.enqueue("work")
    assert asked == []  # a run that is due at once needs no more than an order
    for _ in range(20):
        bell.enqueue("work", delay=5)
    until(lambda: asked, "the time to be measured")
    bell.enqueue("work", delay=5)
    assert asked == [1]


def test_a_schedule_goes_by_it(bell: Workbell, asked: list[int]) -> None:
    grow_old(bell)
    bell.schedules.put("hourly", job="work", cron="0 * * * *")
    assert asked == [1]
