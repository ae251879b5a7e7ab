"""Verbs that do more than one batch of D1 holds: they cut their work, or refuse it before anything is sent."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.cloudflare.miniflare import Miniflare, open_d1
from workbell import StoreError
from workbell.model.event import Rematch
from workbell.model.ids import new_id
from workbell.model.job import Job
from workbell.model.limit import Limits
from workbell.stores.d1 import tables
from workbell.stores.database import Statement
from workbell.stores.port import Filter
from workbell.stores.queries import migrations
from workbell.stores.sql_store import SqlStore
from workbell.stores.sqlite.store import SqliteStore
from workbell.testing.contracts.core.limiting import claim_within
from workbell.testing.contracts.making import START, add, claim, ids, request
from workbell.testing.contracts.parts.events import emitted, fact, settle
from workbell.testing.contracts.parts.fanning import fanned, run_ids

BIG = 2**53 + 1  # the first integer that JavaScript cannot tell from its neighbour


def test_runs_in_many_new_lanes(store: SqlStore) -> None:
    new = [request(lane_key=f"k{n}") for n in range(90)]
    assert [added.created for added in store.runs.add(new)] == [True] * 90
    assert sorted(ids(claim(store))) == sorted(one.run.id for one in new)


def test_a_claim_under_limits_of_many_lanes(store: SqlStore) -> None:
    """What is too much for one batch is left to the next claim; the limit holds over all of them."""
    add(store, *[request(lane_key=f"k{n}") for n in range(70)])
    found = [claim_within(store, Limits(concurrency=50), quota=1) for _ in range(4)]
    assert [len(runs) for runs in found] == [30, 20, 0, 0]
    assert len({run.id for runs in found for run in runs}) == 50


def test_more_rows_than_one_value_holds(store: SqlStore) -> None:
    """One batch, of several statements: all or nothing."""
    new = [request(input_text='"' + "x" * 2000 + '"') for _ in range(1200)]
    store.runs.add(new)
    assert len(store.runs.find([one.run.id for one in new])) == 1200


def test_more_than_a_call_holds_is_refused_whole(store: SqlStore) -> None:
    new = [request(input_text='"' + "x" * 2000 + '"') for _ in range(2500)]
    with pytest.raises(StoreError, match="the bridge takes 4,194,304"):
        store.runs.add(new)
    with pytest.raises(StoreError, match="Hand in fewer at once: of runs with a key 8 fit in a call"):
        store.runs.add([request(key=f"k{n}") for n in range(40)])
    assert store.runs.list(Filter(None, limit=1)) == []
    assert all(
        added.created for added in store.runs.add([request(key=f"k{n}", on_duplicate="reject") for n in range(8)])
    )


def test_many_who_enqueue_with_keys_at_once(store: SqlStore) -> None:
    """They share a commit, which is too much for one batch: then each has one of its own."""
    start = threading.Barrier(24)

    def one(number: int) -> bool:
        start.wait(30)
        return store.runs.add([request(key=f"k{number % 12}")])[0].created

    with ThreadPoolExecutor(24) as threads:
        assert sum(threads.map(one, range(24))) == 12


def test_many_jobs_and_matches(store: SqlStore) -> None:
    store.jobs.put(
        [
            Job(id=new_id(), tenant="default", name=f"j{n:02}", handler="h", created_at=START, updated_at=START)
            for n in range(90)
        ]
    )
    assert len(store.jobs.list("default")) == 90
    (event,) = emitted(store, fact())
    settle(store, event)
    again = fanned(event, *(new_id() for _ in range(50)))
    matched = [Rematch(run, match) for run, match in zip(again.runs, again.matches, strict=True)]
    assert store.events.rematch(matched) == set(run_ids(again))


def test_a_store_is_copied_there_and_back(store: SqlStore, tmp_path: Path) -> None:
    """Everything, and every number to its last digit."""
    here, back = SqliteStore(tmp_path / "here.db"), SqliteStore(tmp_path / "back.db")
    new = [request(user_number=BIG + n, lane_key=f"k{n}") for n in range(60)]
    add(here, *new, *[request(key=f"key{n}", user_number=-BIG - n) for n in range(60)])
    for one, other in ((here, store), (store, back)):
        other.check()
        for page in one.export():
            other.load(page)
    wanted = Filter(None, limit=500)
    runs = here.runs.list(wanted)
    assert len(runs) == 120
    assert store.runs.list(wanted) == back.runs.list(wanted) == runs
    assert {run.lane.id for run in store.runs.list(wanted)} == {run.lane.id for run in runs}
    assert [run.id for run in store.runs.list(Filter(None, limit=500, user_id=BIG + 7))] == [new[7].run.id]
    here.close()
    back.close()


def test_tables_that_somebody_began_to_make(miniflare: Miniflare) -> None:
    """A process died on the way: the next one goes on."""
    address = miniflare.address(empty=True)
    store = open_d1(address)
    store.database._write(list(tables._migrating(None, 1, 0)))
    assert store.database._read([Statement("steps_done")]) == [[[tables.MOST_STEPS]]]
    assert (look := store.database.tables()) is not None
    assert look.version == 0
    other = open_d1(address)
    other.check()
    assert (look := store.database.tables()) is not None
    assert look.version == migrations("sqlite")[-1][0]
    assert store.database._read([Statement("steps_done")]) == [[]]
    other.close()
    store.close()
