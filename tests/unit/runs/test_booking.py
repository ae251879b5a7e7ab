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
from workbell.stores.database import Locked
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
        self.held: set[str | None] = set()  # keys
        self.writes: list[int] = []

    def pairs(self, count: int = 1, key: str | None = None) -> list[Pair]:
        runs = [run_in(Status.RUNNING, id=new_id(), key_text=key) for _ in range(count)]
        self.live |= {run.id: run for run in runs}
        return [(run, state.succeed(run, NOW, result="1", keep=timedelta(days=1))) for run in runs]

    def _apply(self, changes: Sequence[Transition], *, lock: float | None = None) -> set[str]:
        self.writes.append(len(changes))
        if any(change.key in self.held for change in changes):
            assert lock is not None
            raise Locked("held")
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


def ids(pairs: Sequence[Pair]) -> list[str]:
    return sorted(run.id for run, _ in pairs)


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


def test_what_was_written_one_by_one_before_an_outage_counts(fake: FakeStore, booking: Booking) -> None:
    pairs = fake.pairs(3)
    fake.fail = [StoreError("a row that it cannot take"), None, StoreUnavailable("gone")]
    with pytest.raises(StoreUnavailable):
        booking.book(pairs)
    assert ids(booking.book(pairs)) == ids(pairs)


class TestLocks:
    """An open transaction of the application holds a key."""

    def test_it_holds_up_only_the_end_that_needs_the_key(self, fake: FakeStore, booking: Booking) -> None:
        held, free, plain = fake.pairs(key="held"), fake.pairs(2, key="free"), fake.pairs(2)
        fake.held = {"held"}
        written, left = booking.book_unheld([*held, *free, *plain])
        assert (ids(written), left) == (ids(free + plain), held)
        assert fake.writes == [5, 2, 1, 1, 1]
        assert booking.book_unheld(held) == ([], held)
        fake.held = set()
        assert booking.book_unheld(held) == (held, [])

    def test_without_one_all_are_one_write(self, fake: FakeStore, booking: Booking) -> None:
        pairs = fake.pairs(2, key="free") + fake.pairs(2)
        assert booking.book_unheld(pairs) == (pairs, [])
        assert fake.writes == [4]

    def test_those_that_were_not_tried_come_first(
        self, fake: FakeStore, booking: Booking, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Of very many only some are tried in one go, and the others go first the next time."""
        held, free = fake.pairs(key="held"), fake.pairs(3, key="free")
        fake.held = {"held"}
        moments = iter([0.0, 0.1, 0.2, 1.0])
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: next(moments)))
        assert booking.book_unheld([*held, *free]) == (free[:1], [*free[1:], *held])

    def test_an_outage_in_the_middle(self, fake: FakeStore, booking: Booking) -> None:
        held, free = fake.pairs(key="held"), fake.pairs(3, key="free")
        fake.held = {"held"}
        fake.fail = [None, StoreUnavailable("gone")]
        written, left = booking.book_unheld([*free[:1], *held, *free[1:]])
        assert (written, left) == (free[:1], [*free[1:], *held])
        fake.held = set()
        assert ids(booking.book_unheld(left)[0]) == ids(left), "its answer was lost, and it counts"
