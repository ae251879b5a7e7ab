"""Tens of thousands of events and matches: each statement reads the rows it is about, and no table from end to end.

PostgreSQL is asked with EXPLAIN ANALYZE right after ANALYZE, with plans for these values and with generic ones; once
when all but a few events are done with, and once when most of them wait.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.support.plans import Plan, explain
from tests.support.postgres import PostgresServer
from workbell.model.event import Event
from workbell.model.ids import new_id
from workbell.stores.database import Rows
from workbell.stores.event_rows import EVENT, MATCH, event_values, match_row
from workbell.stores.postgres.dialect import bind_values
from workbell.stores.postgres.store import PostgresStore
from workbell.stores.rows import NEW, new_values
from workbell.testing.contracts.making import START, after, request
from workbell.testing.contracts.parts.events import fact
from workbell.testing.contracts.parts.fanning import fanned

MANY = 200_000 if os.environ.get("WORKBELL_SOAK") else 10_000
BATCH = 500
SUBSCRIBERS = 2
EVENTS = """
    INSERT INTO workbell_events (id, tenant, type, source, time, created_at, data, key, fanned_out_at)
    SELECT gen_random_uuid(), 't' || n %% 4, 'posts.n' || n %% 50, '/shop', %(now)s,
        %(now)s::timestamptz + n * interval '1 s', repeat('x', 200), 'k' || n, %(now)s
    FROM generate_series(1, %(count)s) n
"""
RUNS = """
    INSERT INTO workbell_runs (id, lane, status, rank, scheduled_for, created_at, updated_at, event)
    SELECT gen_random_uuid(), %(lane)s, 'queued', 0, %(now)s, %(now)s, %(now)s, id FROM workbell_events
"""
# Every event is in the ledger for each subscriber; one of the runs is live, the others have long ended.
MATCHES = """
    INSERT INTO workbell_matches (event, subscriber, outcome, created_at, run)
    SELECT r.event, s.id, 'started', %(now)s, CASE s.place WHEN 1 THEN r.id ELSE gen_random_uuid() END
    FROM workbell_runs r, unnest(CAST(%(subscribers)s AS uuid[])) WITH ORDINALITY AS s(id, place)
    WHERE r.event IS NOT NULL
"""
ENDED = """
    DELETE FROM workbell_runs r USING workbell_events e
    WHERE e.id = r.event AND e.created_at > %(busy)s AND e.created_at < %(young)s
"""
# The index that must serve each statement.
WANTED = {
    "add_event": "",
    "add_events": "",
    "event_holder": "workbell_events_key",
    "waiting_events": "workbell_events_waiting",
    "take_events": "workbell_events_",
    "add_matches": "",
    "add_taken_matches": "workbell_events_pkey",
    "add_taken_runs": "workbell_events_pkey",
    "waiting_ids": "workbell_events_",
    "put_match": "",
    "find_events": "workbell_events_pkey",
    "list_events": "workbell_events_tenant",
    "list_events_of": "workbell_events_type",
    "matches_of_event": "workbell_matches_pkey",
    "matches_of_subscriber": "workbell_matches_subscriber",
    "delete_events": "workbell_events_created",
    "export_events": "workbell_events_pkey",
    "export_matches": "workbell_matches_pkey",
}
Filled = tuple[PostgresStore, list[Event], list[str]]


@pytest.fixture
def filled(postgres_server: PostgresServer) -> Iterator[Filled]:
    """The oldest events have live runs, and so has the younger half."""
    url = postgres_server.create_database("workbell_template")
    store = PostgresStore(url)
    first = request()
    store.runs.add([first])
    events = [fact(tenant="t1", at=-9) for _ in range(BATCH)]
    subscribers = [new_id() for _ in range(SUBSCRIBERS)]
    values = {"now": START, "count": MANY, "lane": first.run.lane.id, "busy": after(MANY // 100)}
    values["young"] = after(MANY // 2)
    with psycopg.connect(url, autocommit=True) as connection:
        for text in (EVENTS, RUNS, MATCHES, ENDED):
            connection.execute(text, values | {"subscribers": subscribers})
        store.events.add(events)
        connection.execute("VACUUM ANALYZE")
    yield store, events, subscribers
    store.close()
    postgres_server.drop_database(url)


def values_of(name: str, filled: Filled) -> dict[str, Any]:
    _, events, subscribers = filled
    some = [event.id for event in events]
    match name:
        case "add_event":
            return event_values(fact(key="new"))
        case "add_events":
            new = [list(event_values(fact(key=f"new{number}")).values()) for number in range(BATCH)]
            return bind_values({"rows": Rows(EVENT, new)})
        case "event_holder":
            return {"tenant": "t1", "source": "/shop", "key": "k77"}
        case "add_taken_runs":
            new = [request(event=event.id) for event in events]
            return bind_values({"rows": Rows(NEW, [new_values(one) for one in new])})
        case "add_matches" | "add_taken_matches":
            found = [match_row(m) for event in events for m in fanned(event, subscribers[0]).matches]
            return bind_values({"rows": Rows(MATCH, found)})
        case "put_match":
            (found,) = fanned(events[0], subscribers[0]).matches
            return dict(zip(MATCH, match_row(found), strict=True)) | {"before": new_id()}
        case "list_events" | "list_events_of":
            return {"tenant": "t1", "type": "posts.n13", "before": "8" + some[0][1:], "limit": 100}
        case "matches_of_event":
            return {"event": some[0], "after": "0" * 8 + some[0][8:], "limit": 100}
        case "matches_of_subscriber":
            return {"subscriber": subscribers[0], "before": "8" + some[0][1:], "limit": 100}
        case "delete_events":
            return {"before": after(MANY // 10), "limit": MANY // 20, "parts": MANY}
        case "export_matches":
            return {"after": "8" + some[0][1:], "after_subscriber": some[0], "limit": 1000}
        case _:
            return {"ids": some, "now": START, "limit": BATCH, "after": "8" + some[0][1:]}


def test_each_statement_goes_by_its_index(filled: Filled) -> None:
    """One test, because the rows are built once."""
    conninfo = filled[0].calls.conninfo
    plans = look(conninfo, filled)
    assert {plans[name, g].rows for name in ("waiting_events", "take_events") for g in (False, True)} == {BATCH}
    assert "Tid Scan" in plans["take_events", False].nodes & plans["take_events", True].nodes
    assert {plans["delete_events", generic].rows for generic in (False, True)} == {MANY // 20}
    for (name, _), plan in plans.items():
        if name in ("event_holder", "matches_of_event", "put_match"):
            assert plan.pages < 60, (name, plan.pages, plan.text)
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute("UPDATE workbell_events SET fanned_out_at = NULL")
        connection.execute("VACUUM ANALYZE workbell_events")
    look(conninfo, filled)


def look(conninfo: str, filled: Filled) -> dict[tuple[str, bool], Plan]:
    faults: dict[tuple[str, bool], Any] = {}
    plans: dict[tuple[str, bool], Plan] = {}
    for name, index in WANTED.items():
        for generic in (False, True):
            plan = plans[name, generic] = explain(conninfo, name, values_of(name, filled), generic=generic)
            if plan.read_in_full or not any(used.startswith(index) for used in plan.indexes or {""}):
                faults[name, generic] = (plan.read_in_full, plan.indexes, plan.text)
    assert faults == {}
    return plans
