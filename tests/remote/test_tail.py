"""New events, found by looking again and again: none is missed, none is told twice."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from random import Random

import pytest

from workbell import Event
from workbell.model.ids import IdSource
from workbell.remote import tail as module
from workbell.remote.tail import RemoteTail

NOW = datetime(2030, 1, 1, tzinfo=UTC)


class Store:
    """Events by id, newest first, as the service lists them."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.source = IdSource(Random(1))

    def add(self, milliseconds: int) -> str:
        new = self.source.make(milliseconds)
        self.ids.append(new)
        return new

    def listed(self, before: str | None, limit: int) -> Sequence[Event]:
        ids = sorted((one for one in self.ids if before is None or one < before), reverse=True)[:limit]
        return [Event(one, "t", "x", "/s", NOW, NOW) for one in ids]


def looked(tail: RemoteTail) -> list[str]:
    return [event.id for event in tail.poll()]


def test_only_what_comes_later_is_new_and_comes_once() -> None:
    store = Store()
    store.add(1_000_000)
    tail = RemoteTail(store.listed)
    assert looked(tail) == []
    new = [store.add(1_000_001), store.add(1_000_002)]
    assert looked(tail) == new
    assert looked(tail) == []


def test_of_an_empty_store_everything_is_new() -> None:
    store = Store()
    tail = RemoteTail(store.listed)
    assert looked(tail) == []
    first = store.add(1_000_000)
    assert looked(tail) == [first]


def test_an_event_that_was_committed_late_is_found_up_to_a_minute_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGE", 3)
    store, others = Store(), IdSource(Random(2))
    store.add(1_000_000)
    tail = RemoteTail(store.listed)
    burst = [store.add(1_090_000 + number) for number in range(10)]
    assert looked(tail) == burst
    late, too_late = others.make(1_031_000), IdSource(Random(3)).make(1_020_000)
    store.ids += [late, too_late]
    assert looked(tail) == [late]
    assert looked(tail) == []
