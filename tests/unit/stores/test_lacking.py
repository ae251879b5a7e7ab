"""Parts that a store does not bring: what they answer, what they refuse, and that the tables name what there is."""

from __future__ import annotations

import pytest

from workbell.errors import StoreError
from workbell.model.clock import EPOCH
from workbell.model.limit import UNUSED, Limits, limits_on
from workbell.model.run import Lane
from workbell.stores.memory.store import MemoryStore
from workbell.stores.missing_parts import ANSWERS, FEATURES, complete, lacks
from workbell.stores.opening import open_store
from workbell.stores.port import CoreStore, Store

CORE = {*CoreStore.__annotations__, *(name for name in vars(CoreStore) if not name.startswith("_"))}


def test_every_part_beside_the_core_has_its_words() -> None:
    assert set(FEATURES) == {name for name in vars(Store) if not name.startswith("_")} - CORE


@pytest.mark.parametrize("part", ANSWERS)
def test_answers_are_to_verbs_that_there_are(part: str, sqlite_store: Store) -> None:
    there = getattr(sqlite_store, part)
    assert [verb for verb in ANSWERS[part] if not callable(getattr(there, verb, None))] == []


@pytest.mark.parametrize("part", sorted(set(FEATURES) - {"limits"}))
def test_a_users_call_is_refused_with_a_remedy(part: str) -> None:
    store = open_store("memory://")
    verb = getattr(store, part) if part in ("export", "load") else getattr(store, part).whatever
    with pytest.raises(StoreError) as caught:
        verb(1, two=2)
    assert str(caught.value).startswith("memory:// keeps runs, schedules and jobs only; ")
    assert str(caught.value).endswith("an SQL store: sqlite:///workbell.db or postgresql://host/database.")
    assert FEATURES[part] in str(caught.value)


def test_what_duties_read_is_empty_and_what_they_note_is_dropped() -> None:
    store = complete(MemoryStore(), "memory://")
    assert (store.workers.list(), store.pauses.list(), store.events.waiting(9)) == ([], [], [])
    assert (store.subscribers.version(), store.services.list()) == (0, {})
    assert store.reports.waiting_targets([("default", "press")]) == set()
    store.workers.see(["w"], EPOCH)
    store.services.put("host/1/2", "127.0.0.1:8321")
    store.tallies.add([])
    store.tokens.see(["t"], EPOCH)
    assert store.logs.add([]) == 0
    assert (store.workers.list(), store.workers.held(), store.services.list()) == ([], {}, {})
    assert store.reports.counts("default") == []


def test_a_store_keeps_the_parts_that_it_brings() -> None:
    brought = MemoryStore()
    limits = brought.limits
    store = complete(brought, "memory://")
    assert store.limits is limits
    assert [part for part in ("limits", "events", "export") if lacks(store, part)] == ["events", "export"]


def test_limits_of_a_store_that_counts_none_are_unused() -> None:
    brought = MemoryStore()
    del brought.limits
    (limit,) = limits_on(Limits(concurrency=2), Lane("default", "default", "work"))
    assert complete(brought, "heap://").limits.uses([limit]) == {limit.id: UNUSED}
