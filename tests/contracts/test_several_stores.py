"""Runs and events through several stores on one database, as processes have them: they share no memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from tests.support.waiting import until
from workbell.app import open_store
from workbell.model.run import Added
from workbell.stores.port import Store
from workbell.stores.postgres import calls
from workbell.testing.contracts.core.sharing import THREADS, at_once
from workbell.testing.contracts.making import START, ids, request
from workbell.testing.contracts.parts.events import fact, listed
from workbell.testing.contracts.parts.fanning import fanned, ledger, run_ids

KEYS = ["a", "m", "z"]


@pytest.fixture
def stores(sql_store_url: str) -> Iterator[list[Store]]:
    opened = [open_store(sql_store_url) for _ in range(THREADS)]
    opened[0].check()
    yield opened
    for store in opened:
        store.close()


def tell(store: Store, keys: list[str]) -> dict[str, Added]:
    return dict(zip(keys, store.events.add([fact(key=key) for key in keys]), strict=True))


def test_one_key_makes_one_event(stores: list[Store]) -> None:
    answers = at_once(lambda number: tell(stores[number], KEYS[::-1] if number % 2 else KEYS))
    for key in KEYS:
        assert len({answer[key].id for answer in answers}) == 1
        assert Counter(answer[key].created for answer in answers) == {True: 1, False: THREADS - 1}
    assert len(listed(stores[0])) == len(KEYS)


@pytest.mark.parametrize("sql_store_url", ["postgres"], indirect=True)
def test_the_same_keys_crosswise(stores: list[Store], sql_store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two batches with the same keys in opposite order: neither waits for the other while that waits for it."""
    monkeypatch.setattr(calls, "TRIES", 1)  # what the server gives up would be tried again, and tell nobody
    waiting = (
        "SELECT count(*) >= 2 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    with (
        psycopg.connect(sql_store_url) as holding,
        psycopg.connect(sql_store_url, autocommit=True) as looking,
        ThreadPoolExecutor(2) as threads,
    ):
        stores[0].events.add_on(holding, fact(key="m"))
        one, other = threads.submit(tell, stores[1], KEYS), threads.submit(tell, stores[2], KEYS[::-1])
        until(lambda: (looking.execute(waiting).fetchone() or (False,))[0], "that both of them wait for the middle one")
        holding.rollback()
        answers = one.result(30), other.result(30)
    assert answers[0].keys() == answers[1].keys()
    assert {answers[0][key].id for key in KEYS} == {answers[1][key].id for key in KEYS}
    assert sorted(listed(stores[0])) == sorted(answer.id for answer in answers[0].values())


def test_replacing_a_tag_at_once_leaves_one_waiting(stores: list[Store]) -> None:
    for number in range(20):
        at_once(lambda place, tag=f"t{number}": stores[place].runs.add([request(tag=tag, replace_tag=True, at=place)]))
        assert len(stores[0].runs.pending(tenant="default", tag=f"t{number}")) == 1


@pytest.mark.parametrize("sql_store_url", ["postgres"], indirect=True)
def test_replacing_a_tag_waits_for_a_callers_transaction(stores: list[Store], sql_store_url: str) -> None:
    waiting = "SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    with (
        psycopg.connect(sql_store_url) as holding,
        psycopg.connect(sql_store_url, autocommit=True) as looking,
        ThreadPoolExecutor(1) as threads,
    ):
        stores[0].runs.add_on(holding, [request(tag="t", replace_tag=True)])
        other = threads.submit(stores[1].runs.add, [request(tag="t", replace_tag=True, at=1)])
        until(lambda: (looking.execute(waiting).fetchone() or (False,))[0], "that the other waits for the tag")
        holding.commit()
        (added,) = other.result(30)
    assert ids(stores[0].runs.pending(tenant="default", tag="t")) == [added.id]


def test_schedulers_that_know_nothing_of_each_other(stores: list[Store]) -> None:
    """Each event makes the run that one of them has decided on, in the lane that this one has chosen."""
    told = [answer.id for answer in stores[0].events.add([fact() for _ in range(10)])]
    subscriber = told[0]  # any id will do

    def fan_out(number: int) -> list[str]:
        decided = [fanned(event, subscriber, queue=f"q{number}") for event in stores[number].events.waiting(100)]
        taken = stores[number].events.fan_out(decided, START)
        return run_ids(*[one for one in decided if one.event_id in taken])

    made = [run_id for mine in at_once(fan_out) for run_id in mine]
    assert len(made) == len(told)
    assert set(stores[0].runs.find(made)) == set(made)
    events = stores[0].events.find(told)
    assert {match.run for event in events.values() for match in ledger(stores[0], event)} == set(made)
