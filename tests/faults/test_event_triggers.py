"""A trigger that was there before an event hears of it, whatever a scheduler knew until then (C3)."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.checker import report
from tests.support.event_checker import check_fan_out, facts
from tests.support.event_scheduling import emit, found, look, scheduler
from tests.support.event_triggers import add_fifty, trigger, type_of
from tests.support.waiting import until
from workbell import Workbell
from workbell.model.event import Event
from workbell.stores.port import Store

SOAK = os.environ.get("WORKBELL_SOAK") == "1"
TRIGGERS = 500 if SOAK else 30


def test_added_elsewhere(sql_stores: list[Store]) -> None:
    """The scheduler has all triggers in mind; one more comes, and goes, by another store."""
    here, there, _ = sql_stores
    hearers = add_fifty(there)
    emit(there, 0)
    duty = look(here)
    made = trigger(there.clock, "shop.kind1.made", "another")
    there.subscribers.write_trigger(made, None)
    emit(there, 1, 2)
    look(here, duty)
    hearers[type_of(1)].add(made.id)
    assert found(there, hearers) == set()
    there.subscribers.delete_trigger(made.id)
    hearers[type_of(1)].remove(made.id)
    (event,) = emit(there, 1)
    look(here, duty)
    ledger = there.events.matches(event.id, after=None, limit=100)
    assert {match.subscriber for match in ledger} == hearers[type_of(1)]


@pytest.mark.parametrize("moment", ["waiting", "version"])
def test_added_while_a_scheduler_looks(sql_stores: list[Store], monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    """At the last moment: just before the events are read, or before it is asked whether triggers have changed."""
    here, there, _ = sql_stores
    here.subscribers.write_trigger(trigger(here.clock, "other.thing"), None)
    emit(there, 0)
    duty = look(here)
    made = trigger(there.clock, "shop.kind1.made")
    part = here.subscribers if moment == "version" else here.events
    sound, told = getattr(part, moment), list[Event]()

    def late(*given: object) -> object:
        if not told:
            there.subscribers.write_trigger(made, None)
            told.extend(emit(there, 1))
        return sound(*given)

    monkeypatch.setattr(part, moment, late)
    emit(there, 2)  # so that there is something to look at
    look(here, duty)
    (ledger,) = there.events.matches(told[0].id, after=None, limit=100)
    assert ledger.subscriber == made.id


@pytest.mark.timeout(300 if SOAK else 60)
def test_added_again_and_again(sql_stores: list[Store]) -> None:
    """One adds a trigger, tells an event of it, and so on; two schedulers fan out all the while."""
    mine, *theirs = sql_stores
    bell, hearers, stop = Workbell(store=mine), dict[str, set[str]](), threading.Event()

    def fan_out(store: Store) -> None:
        duty = scheduler(store)
        while not stop.is_set():
            duty.fan_out_waiting(store.clock.now())

    with ThreadPoolExecutor(2) as threads:
        going = [threads.submit(fan_out, store) for store in theirs]
        try:
            for number in range(TRIGGERS):
                kind = f"made.just{number}"
                made = trigger(mine.clock, kind if number % 2 else f"*.just{number}")
                mine.subscribers.write_trigger(made, None)
                bell.emit(kind)
                hearers[kind] = {made.id}
            until(lambda: not mine.events.waiting(1), "everything to be fanned out")
        finally:
            stop.set()
        for one in going:
            one.result(30)
    violations = check_fan_out(facts(mine), hearers)
    assert not violations, report(violations)
