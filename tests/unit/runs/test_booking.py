"""Booking: writes whose answer was lost are known when they are repeated, and forgotten once the store has answered."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from tests.unit.makers import run_in
from workbell.errors import StoreError, StoreUnavailable
from workbell.model import state
from workbell.model.ids import new_id
from workbell.model.run import Run, Status
from workbell.model.state import Retention, Transition
from workbell.runs import booking as module
from workbell.runs.booking import Booking
from workbell.runs.publisher import RunPublisher
from workbell.stores.publisher import Pair

NOW = datetime(2030, 1, 1, tzinfo=UTC)


class FakeStore:
    """Only what booking asks of a store. `fail` is raised by the next writes, in order; None writes."""

    def __init__(self) -> None:
        self.runs = SimpleNamespace(apply=self._apply, find=self._find)
        self.live: dict[str, Run] = {}
        self.fail: list[Exception | None] = []
        self.lost_answers = True  # what fails has been written nonetheless
        self.asked: list[list[str]] = []

    def pairs(self, count: int = 1) -> list[Pair]:
        runs = [run_in(Status.RUNNING, id=new_id()) for _ in range(count)]
        self.live |= {run.id: run for run in runs}
        return [(run, state.succeed(run, NOW, result="1", keep=timedelta(days=1))) for run in runs]

    def _apply(self, changes: Sequence[Transition]) -> set[str]:
        error = self.fail.pop(0) if self.fail else None
        if error is None or isinstance(error, StoreUnavailable):
            moved = {change.run_id for change in changes if self.live[change.run_id].status is change.expected}
            self.live |= {one.run_id: one.after(self.live[one.run_id]) for one in changes if one.run_id in moved}
        if error is not None:
            raise error
        return moved

    def _find(self, ids: Any) -> dict[str, Run]:
        self.asked.append(list(ids))
        return {run_id: self.live[run_id] for run_id in ids}


@pytest.fixture
def fake() -> FakeStore:
    return FakeStore()


@pytest.fixture
def booking(fake: FakeStore) -> Booking:
    def store() -> Any:
        return fake

    return Booking(store, RunPublisher(store), Retention())


def lose_answer(fake: FakeStore, booking: Booking, pairs: Sequence[Pair]) -> None:
    fake.fail = [StoreUnavailable("the connection was lost")]
    with pytest.raises(StoreUnavailable):
        booking.book(pairs)


def test_a_write_whose_answer_was_lost_counts_once(fake: FakeStore, booking: Booking) -> None:
    pairs = fake.pairs(2)
    lose_answer(fake, booking, pairs)
    assert booking.book(pairs) == pairs
    asked = len(fake.asked)
    assert asked == 1
    assert booking.book(pairs) == [], "now it is somebody else's"
    assert len(fake.asked) == asked, "nothing is unsure any more, so nothing is read again"


def test_one_by_one_too(fake: FakeStore, booking: Booking) -> None:
    pairs = fake.pairs(2)
    lose_answer(fake, booking, pairs)
    fake.fail = [StoreError("no such value")]
    assert booking.book(pairs) == pairs
    asked = len(fake.asked)
    assert booking.book(pairs) == []
    assert len(fake.asked) == asked


def test_writes_that_are_never_repeated_are_not_kept_for_ever(
    fake: FakeStore, booking: Booking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_UNSURE", 10)
    for _ in range(30):
        lose_answer(fake, booking, fake.pairs())
    assert len(booking._unsure) <= 10
    pairs = fake.pairs()
    lose_answer(fake, booking, pairs)
    assert booking.book(pairs) == pairs
