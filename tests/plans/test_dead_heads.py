"""Dead rows at the head of a lane: surveys and claims pass over them.

A session that stays in a transaction keeps vacuum from removing what was claimed since. The pages that statements touch
are counted; no time is measured.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from tests.support.plans import explain
from tests.support.postgres import PostgresServer
from tests.support.waiting import until
from workbell.model.run import Lane, NewRun
from workbell.stores.port import LeaseTerms, Pick
from workbell.stores.postgres.dialect import POSTGRES, bind_values
from workbell.stores.postgres.store import PostgresStore
from workbell.stores.runs import head_bounds
from workbell.stores.runs.claiming import claims
from workbell.testing.contracts.making import START, after, request

DEAD = 20_000
LANE = Lane("default", "default", "work")
MADE = """
    INSERT INTO workbell_runs (id, lane, status, rank, scheduled_for, created_at, updated_at)
    SELECT gen_random_uuid(), %(lane)s, 'queued', 0, %(now)s::timestamptz - n * interval '1 s', %(now)s, %(now)s
    FROM generate_series(10, %(count)s) n
"""


@pytest.fixture
def store(postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[PostgresStore]:
    """One lane with a run, before which many dead ones lie, held there by an open transaction."""
    monkeypatch.setattr(head_bounds, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(head_bounds, "LOOK_SHARE", 0)
    url = postgres_server.create_database("workbell_template")
    store = PostgresStore(url)
    with psycopg.connect(url) as holder, psycopg.connect(url, autocommit=True) as connection:
        store.runs.add([request("work", at=0)])
        holder.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        holder.execute("SELECT 1 FROM workbell_runs")
        connection.execute(MADE, {"lane": LANE.id, "now": START, "count": DEAD})
        connection.execute("DELETE FROM workbell_runs WHERE scheduled_for < %s", [START - timedelta(seconds=1)])
        yield store
    store.close()
    postgres_server.drop_database(url)


def terms() -> LeaseTerms:
    return LeaseTerms.drawn("worker", after(1), after(31))


def heads(store: PostgresStore) -> list[tuple[str, Any]]:
    return [(head.lane.job, head.since) for head in store.runs.survey(-1, 100)]


def claim_pages(store: PostgresStore, pick: Pick) -> int:
    (claim,) = claims(POSTGRES, [pick], 10, terms())
    return explain(store.calls.conninfo, "claim", bind_values(claim.values)).pages


def looked(store: PostgresStore) -> None:
    """Wait until a look that was begun is over."""
    until(lambda: not any(one.name == "workbell-look" for one in threading.enumerate()), "the look to end")


def test_a_claim_with_a_bound_reads_no_dead_rows(store: PostgresStore) -> None:
    whole = claim_pages(store, Pick(LANE.id, 0, 10))
    bounded = claim_pages(store, Pick(LANE.id, 0, 10, START))
    assert whole > 10 * bounded, f"{whole} pages without a bound, {bounded} with one"


def test_a_survey_with_bounds_reads_no_dead_rows(store: PostgresStore) -> None:
    def pages(name: str, values: dict[str, Any]) -> int:
        return explain(store.calls.conninfo, name, values).pages

    known = bind_values({"rows": head_bounds._rows({(LANE.id, 0): START})})
    whole, bounded = pages("survey", {"after": -1, "limit": 100}), pages("survey_since", known)
    assert whole > 10 * bounded, f"{whole} pages without bounds, {bounded} with them"


def test_bounds_are_used_once_a_survey_was_slow(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(head_bounds, "SLOW_SECONDS", 1000.0)
    assert heads(store) == [("work", None)]
    monkeypatch.setattr(head_bounds, "SLOW_SECONDS", 0.0)
    assert heads(store) == [("work", None)]
    bound = START - head_bounds.SLACK
    assert heads(store) == [("work", bound)]
    looked(store)
    assert heads(store) == [("work", bound)]
    looked(store)
    monkeypatch.setattr(head_bounds, "SLOW_SECONDS", 1000.0)  # dead rows are gone: the next look is quick
    heads(store)
    looked(store)
    assert heads(store) == [("work", None)]


def test_nothing_is_missed_with_bounds(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """New lanes and ranks at once, paused ones not, and a run before the bound with the next look."""
    monkeypatch.setattr(head_bounds, "SLOW_SECONDS", 0.0)
    heads(store)
    heads(store)
    looked(store)
    store.runs.add([request("another", at=0), request("work", at=1, priority=5), request("third", at=0)])
    for _ in range(3):  # of lanes that lie between the same two known ones, one is found by each survey
        found = {(head.lane.job, head.rank) for head in store.runs.survey(-1, 100)}
        looked(store)
    assert found == {("another", 0), ("work", 0), ("work", -5), ("third", 0)}
    taken = [run for head in store.runs.survey(-1, 100) for run in store.runs.claim([pick(head)], 10, terms())]
    assert len(taken) == 4
    looked(store)
    assert heads(store) == []
    looked(store)
    store.runs.add([request("work", at=-3600)])
    heads(store)  # begins a look
    looked(store)
    (late,) = store.runs.survey(-1, 100)
    assert late.since == after(-3600)
    assert [run.scheduled_for for run in store.runs.claim([pick(late)], 10, terms())] == [after(-3600)]


def test_a_run_that_was_queued_while_an_empty_lane_was_surveyed(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is committed after the survey, under an earlier time: the next survey finds it, without a look."""
    monkeypatch.setattr(head_bounds, "SLOW_SECONDS", 0.0)
    monkeypatch.setattr(head_bounds, "LOOK_SECONDS", 1000.0)
    monkeypatch.setattr(head_bounds, "SLACK", timedelta(seconds=60))

    def fresh(seconds: float) -> NewRun:
        return request("fresh", at=(store.clock.now() - START).total_seconds() - seconds)

    store.runs.add([fresh(300)])
    (first,) = [head for head in store.runs.survey(-1, 100) if head.lane.job == "fresh"]
    assert len(store.runs.claim([pick(first)], 10, terms())) == 1
    assert heads(store) == [("work", START - head_bounds.SLACK)]
    store.runs.add([fresh(30)])
    assert {job for job, _ in heads(store)} == {"fresh", "work"}


def pick(head: Any) -> Pick:
    return Pick(head.lane_id, head.rank, 10, head.since)
