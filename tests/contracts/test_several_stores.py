"""Runs and events through several stores on one database, as processes have them: they share no memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from tests.support.waiting import until
from workbell.app import open_store
from workbell.model.run import PENDING, Added
from workbell.stores.port import Filter, Store
from workbell.stores.postgres import calls
from workbell.stores.publisher import Pair
from workbell.stores.runs.adding import ROUND
from workbell.testing.contracts.core.sharing import THREADS, at_once
from workbell.testing.contracts.making import START, ids, request
from workbell.testing.contracts.parts.events import fact, listed
from workbell.testing.contracts.parts.fanning import fanned, ledger, run_ids

KEYS = ["a", "m", "z"]
WAITING = "SELECT count(*) >= 2 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


@pytest.fixture
def stores(sql_store_url: str) -> Iterator[list[Store]]:
    opened = [open_store(sql_store_url) for _ in range(THREADS)]
    opened[0].check()
    yield opened
    for store in opened:
        store.close()


def waiting_of(store: Store, tag: str) -> list[str]:
    return ids(store.runs.list(Filter("default", tag=tag, status=tuple(PENDING))))


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
    with (
        psycopg.connect(sql_store_url) as holding,
        psycopg.connect(sql_store_url, autocommit=True) as looking,
        ThreadPoolExecutor(2) as threads,
    ):
        stores[0].events.add_on(holding, fact(key="m"))
        one, other = threads.submit(tell, stores[1], KEYS), threads.submit(tell, stores[2], KEYS[::-1])
        until(lambda: (looking.execute(WAITING).fetchone() or (False,))[0], "that both of them wait for the middle one")
        holding.rollback()
        answers = one.result(30), other.result(30)
    assert answers[0].keys() == answers[1].keys()
    assert {answers[0][key].id for key in KEYS} == {answers[1][key].id for key in KEYS}
    assert sorted(listed(stores[0])) == sorted(answer.id for answer in answers[0].values())


@pytest.mark.parametrize("sql_store_url", ["postgres"], indirect=True)
def test_the_same_new_lanes_crosswise(stores: list[Store], sql_store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "TRIES", 1)
    new = sorted([request(lane_key=key) for key in KEYS], key=lambda one: one.run.lane.id)
    again = [request(lane_key=one.run.lane.key) for one in reversed(new)]
    with (
        psycopg.connect(sql_store_url) as holding,
        psycopg.connect(sql_store_url, autocommit=True) as looking,
        ThreadPoolExecutor(2) as threads,
    ):
        holding.execute(
            "INSERT INTO workbell_lanes (id, tenant, queue, job, created_at) VALUES (%s, 'a', 'a', 'a', now())",
            [new[1].run.lane.id],
        )
        both = [threads.submit(stores[place].runs.add, some) for place, some in enumerate((new, again))]
        until(lambda: (looking.execute(WAITING).fetchone() or (False,))[0], "that both of them wait")
        holding.rollback()
        assert all(added.created for one in both for added in one.result(30))


class Rounds:
    """A publisher that notes how many runs ended together."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def publish(self, pairs: Sequence[Pair]) -> Sequence[Pair]:
        return pairs

    def written(self, pairs: Sequence[Pair]) -> None:
        self.sizes.append(len(pairs))


def test_no_write_ends_more_waiting_runs_of_a_tag_than_a_round(stores: list[Store]) -> None:
    stores[0].publisher = rounds = Rounds()
    stores[1].runs.add([request(tag="t") for _ in range(2 * ROUND + 1)])
    stores[0].runs.add([request(tag="t", replace_tag=True, at=1)])
    assert rounds.sizes == [ROUND, ROUND, 1]


def test_replacing_a_tag_at_once_leaves_one_waiting(stores: list[Store]) -> None:
    for number in range(20):
        at_once(lambda place, tag=f"t{number}": stores[place].runs.add([request(tag=tag, replace_tag=True, at=place)]))
        assert len(waiting_of(stores[0], f"t{number}")) == 1


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
    assert waiting_of(stores[0], "t") == [added.id]


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
