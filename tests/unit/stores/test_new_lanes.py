"""New lanes of a call are one statement, however many there are."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

import pytest

from tests.support.fresh_store import fresh_store
from tests.support.statements import watch_statements
from workbell import Run, Workbell
from workbell.model.clock import ManualClock
from workbell.model.run import Lane
from workbell.stores.database import Statement
from workbell.stores.port import Store
from workbell.stores.sql_store import SqlStore
from workbell.testing.contracts.making import request

TENANTS = 2000


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    counted: Counter[str] = Counter()
    watch_statements(lambda query, _rows: counted.update([query]), monkeypatch.setattr)
    return counted


def test_many_new_tenants_in_one_call(sql_store: Store, counted: Counter[str]) -> None:
    with Workbell(store=sql_store) as bell:
        bell.job(name="sync")(lambda: None)
        wanted = [bell.for_tenant(f"tenant{number}").request("sync") for number in range(TENANTS)]
        counted.clear()
        runs: list[Run] = bell.enqueue_many(wanted)
        assert (counted["add_lanes"], counted["add_runs"]) == (1, 1)
        found = sql_store.runs.find([run.id for run in runs])
        assert {run.tenant for run in found.values()} == {f"tenant{number}" for number in range(TENANTS)}
        counted.clear()
        bell.enqueue_many([bell.for_tenant("tenant7").request("sync")])
        assert (counted["add_lanes"], counted["add_runs"]) == (0, 1)  # it is known now


def test_lanes_of_another_store_are_one_statement(sql_store: Store, counted: Counter[str]) -> None:
    other = fresh_store()
    other.runs.add([request(tenant=f"tenant{number}") for number in range(20)])
    counted.clear()
    for page in other.export():
        sql_store.load(page)
    assert counted["load_lanes"] == 1
    assert len(sql_store.reports.counts()) == 20


def test_only_lanes_with_a_key_are_written_again(sql_store: SqlStore) -> None:
    """So that they are not removed as unused."""
    lanes = [Lane("default", "default", "work", key=key) for key in ("a", "b", None)]

    def written(some: list[Lane]) -> dict[int, datetime]:
        sql_store.database.write(sql_store.lanes.statements(some))
        (rows,) = sql_store.database.read([Statement("lanes", text="SELECT id, created_at FROM workbell_lanes")])
        return {row[0]: row[1] for row in rows}

    first = written(lanes)
    again = written(lanes[1:])
    assert [again[lane.id] > first[lane.id] for lane in lanes] == [False, True, False]


def test_a_lane_with_a_key_is_trusted_for_an_hour(counted: Counter[str]) -> None:
    """Another process may have removed it since, as unused."""
    clock = ManualClock()
    store = fresh_store(clock)
    for seconds, written in ((0, 1), (3599, 0), (1, 1), (3599, 0)):
        clock.advance(seconds)
        counted.clear()
        store.runs.add([request(lane_key="a")])
        assert counted["add_lanes"] == written
