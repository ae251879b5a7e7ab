"""New events, found by looking again and again: none is missed, none is told twice."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from random import Random

import pytest

from workbell import Event
from workbell.model.ids import IdSource
from workbell.remote import tail as module
from workbell.remote.tail import THOROUGH, RemoteTail

NOW = datetime(2030, 1, 1, tzinfo=UTC)


class Store:
    """Events by id, newest first, as the service lists them."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.source = IdSource(Random(1))
        self.asked = 0

    def add(self, milliseconds: int) -> str:
        new = self.source.make(milliseconds)
        self.ids.append(new)
        return new

    def listed(self, before: str | None, limit: int) -> Sequence[Event]:
        self.asked += 1
        ids = sorted((one for one in self.ids if before is None or one < before), reverse=True)[:limit]
        return [Event(one, "t", "x", "/s", NOW, NOW) for one in ids]


def looked(tail: RemoteTail, now: float = 0.0) -> list[str]:
    return [event.id for event in tail.poll(now)]


def test_only_what_comes_later_is_new_and_comes_once() -> None:
    store = Store()
    store.add(1_000_000)
    tail = RemoteTail(store.listed, 0.0)
    assert looked(tail) == []
    new = [store.add(1_000_001), store.add(1_000_002)]
    assert looked(tail) == new
    assert looked(tail) == []


def test_of_an_empty_store_everything_is_new() -> None:
    store = Store()
    tail = RemoteTail(store.listed, 0.0)
    assert looked(tail) == []
    first = store.add(1_000_000)
    assert looked(tail) == [first]


def test_an_event_that_was_committed_late_is_found_up_to_a_minute_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGE", 3)
    store, others = Store(), IdSource(Random(2))
    store.add(1_000_000)
    tail = RemoteTail(store.listed, 0.0)
    burst = [store.add(1_090_000 + number) for number in range(10)]
    assert looked(tail) == burst
    late, too_late = others.make(1_031_000), IdSource(Random(3)).make(1_020_000)
    store.ids += [late, too_late]
    assert looked(tail, THOROUGH) == [late]
    assert looked(tail, 2 * THOROUGH) == []


@pytest.mark.parametrize("seed", range(20))
def test_every_event_is_told_once_however_late_it_is_committed(seed: int) -> None:
    """Up to a minute after its id was made, with polls at any distance."""
    random, store = Random(seed), Store()
    for number in range(random.choice([0, 1, 3000])):
        store.add(997_000 + number)
    before = set(store.ids)
    tail = RemoteTail(store.listed, 0.0)
    told: list[str] = []
    next_poll = 1
    for second in range(1, 300):
        for _ in range(random.randrange(3)):
            made = 1_000_000 + second * 1000 - random.randrange(59_000)
            store.ids.append(IdSource(Random(random.random())).make(made))
        if second == next_poll:
            told += looked(tail, float(second))
            next_poll += random.choice([1, 1, 1, 2, 90])
    told += looked(tail, 400.0)
    assert sorted(told) == sorted({*store.ids} - before)


def test_a_burst_costs_a_minute_of_few_requests_and_then_one_a_second() -> None:
    store = Store()
    tail = RemoteTail(store.listed, 0.0)
    burst = [store.add(1_000_000 + number) for number in range(10_000)]
    assert looked(tail, 1.0) == burst
    store.asked = 0
    for second in range(2, 72):
        assert looked(tail, float(second)) == []
    assert store.asked <= 7 * 51 + 70
    store.asked = 0
    for second in range(72, 132):
        assert looked(tail, float(second)) == []
    assert store.asked == 60


@pytest.mark.parametrize("others", [1, 450])
def test_events_are_found_after_one_of_a_clock_that_was_ahead(others: int) -> None:
    store = Store()
    right = IdSource(Random(2))  # of a machine whose clock is right
    store.add(1_000_000)
    tail = RemoteTail(store.listed, 0.0)
    store.add(1_300_000)  # five minutes ahead
    looked(tail, 1.0)
    for second in range(2, 700):
        new = [right.make(1_000_000 + second * 1000) for _ in range(others if second % 100 == 0 else 1)]
        store.ids += new
        assert looked(tail, float(second)) == new


def test_events_are_found_if_the_newest_at_the_start_is_of_a_clock_that_was_ahead() -> None:
    store = Store()
    right = IdSource(Random(2))
    store.ids += [right.make(1_000_000 - number) for number in range(500)]
    store.add(1_300_000)
    tail = RemoteTail(store.listed, 0.0)
    for second in range(1, 20):
        store.ids.append(right.make(1_000_000 + second * 1000))
        assert looked(tail, float(second)) == [store.ids[-1]]


def test_a_burst_of_a_clock_that_was_ahead_hides_others_no_longer_than_until_their_time_has_come() -> None:
    store = Store()
    right = IdSource(Random(2))
    store.add(1_000_000)
    tail = RemoteTail(store.listed, 0.0)
    for number in range(300):
        store.add(1_120_000 + number)
    looked(tail, 1.0)
    for second in range(2, 122):
        looked(tail, float(second))
    late: list[str] = []
    for second in range(122, 300):
        if second > 200:  # committed half a minute after its id was made, as in any other minute
            late.append(right.make(1_000_000 + second * 1000 - 30_000))
            store.ids.append(late[-1])
            assert late[-1] in looked(tail, float(second))
        new = [right.make(1_000_000 + second * 1000 + number) for number in range(20)]
        store.ids += new
        assert set(new) <= set(looked(tail, float(second)))
