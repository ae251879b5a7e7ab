"""Events at hand: few enough to fit, and read from the store once."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.support.fresh_store import fresh_store
from workbell.handlers import known_events
from workbell.handlers.known_events import KnownEvents
from workbell.model.clock import ManualClock
from workbell.model.event import Event
from workbell.model.ids import new_id
from workbell.stores.sqlite.store import SqliteStore
from workbell.testing.sqlite_files import SqliteFiles


@pytest.fixture
def store(clock: ManualClock, reads: list[str], monkeypatch: pytest.MonkeyPatch) -> SqliteStore:
    store = fresh_store(clock)
    sound = store.events.find

    def find(ids: Iterable[str]) -> dict[str, Event]:
        wanted = list(ids)
        reads.extend(wanted)
        return sound(wanted)

    monkeypatch.setattr(store.events, "find", find)
    return store


@pytest.fixture
def reads() -> list[str]:
    return []


def add(store: SqliteStore, size: int = 0) -> str:
    now = store.clock.now()
    event = Event(new_id(), "default", "posts.created", "/shop", now, now, data_text="x" * size)
    store.events.add([event])
    return event.id


def test_an_event_is_read_once(store: SqliteStore, reads: list[str]) -> None:
    known, event_id = KnownEvents(), add(store)
    assert known.peek(store, event_id) is None
    assert known.find(store, event_id) is known.find(store, event_id) is known.peek(store, event_id)
    assert reads == [event_id]


def test_each_store_has_its_own(store: SqliteStore, clock: ManualClock) -> None:
    known, event_id, other = KnownEvents(), add(store), fresh_store(clock)
    known.find(store, event_id)
    assert known.find(other, event_id) is None


def test_what_is_not_there_is_asked_again(store: SqliteStore, reads: list[str]) -> None:
    known, event_id = KnownEvents(), new_id()
    assert known.find(store, event_id) is known.find(store, event_id) is None
    assert reads == [event_id] * 2


def test_the_one_asked_for_longest_ago_goes_first(
    store: SqliteStore, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_events, "MOST", 2)
    known, (one, two, three) = KnownEvents(), [add(store) for _ in range(3)]
    for event_id in (one, two, one, three):
        known.find(store, event_id)
    assert [known.peek(store, event_id) is not None for event_id in (one, two, three)] == [True, False, True]
    assert reads == [one, two, three]


def test_much_data_leaves_room_for_few(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_events, "MOST_DATA", 100)
    known, ids = KnownEvents(), [add(store, size) for size in (60, 30, 50, 200)]
    for event_id in ids:
        known.find(store, event_id)
    assert [known.peek(store, event_id) is not None for event_id in ids] == [False, True, True, False]


def test_a_store_that_is_gone_takes_its_events_along(sqlite_files: SqliteFiles, tmp_path: Path) -> None:
    known, other = KnownEvents(), sqlite_files.open(tmp_path / "other.db")
    known.find(other, add(other))
    gone = weakref.ref(other)
    del other
    gc.collect()
    assert gone() is None
    assert not known._stores
