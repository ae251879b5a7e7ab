"""A job with a hundred thousand keys: what is counted for a few of them reads the rows of those, and no table in full.

PostgreSQL is asked with EXPLAIN ANALYZE right after ANALYZE, with plans for these values and with generic ones.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.support.plans import _reads_in_full, _walk, explain
from tests.support.postgres import PostgresServer
from workbell.model.limit import Limits, limits_on
from workbell.model.run import Lane
from workbell.stores.database import Rows
from workbell.stores.limits.statements import COUNTED, NOTED
from workbell.stores.postgres.dialect import bind_values
from workbell.stores.postgres.store import PostgresStore
from workbell.testing.contracts.core.limiting import claim_within
from workbell.testing.contracts.making import START, after, request

MANY = 100_000 if os.environ.get("WORKBELL_SOAK") else 10_000
BATCH = 50
# The ids are not those that Workbell would give: nothing here asks for them by name.
LANES = """
    INSERT INTO workbell_lanes (id, tenant, queue, job, key, created_at)
    SELECT n, 'default', 'default', 'work', 'k' || n, %(now)s FROM generate_series(1, %(count)s) n
"""
RUNS = """
    INSERT INTO workbell_runs (id, lane, status, rank, scheduled_for, created_at, updated_at, lease_until)
    SELECT gen_random_uuid(), n, CASE n %% 100 WHEN 0 THEN 'running' WHEN 1 THEN 'scheduled' ELSE 'queued' END, 0,
        %(now)s, %(now)s, %(now)s, CASE n %% 100 WHEN 0 THEN %(now)s::timestamptz END
    FROM generate_series(1, %(count)s) n
"""
HISTORY = """
    INSERT INTO workbell_history (id, lane, status, rank, scheduled_for, created_at, updated_at, attempt, failures,
        losses, crashes, token, user_id, finished_at, remove_at)
    SELECT gen_random_uuid(), n, 'succeeded', 0, %(now)s, %(now)s, %(now)s, 1, 0, 0, 0, 1, 0, %(now)s, %(now)s
    FROM generate_series(1, %(count)s) n
"""
LIMITS = """
    INSERT INTO workbell_limits (id, tenant, job, key, updated_at)
    SELECT n, 'default', 'work', 'k' || n, %(now)s FROM generate_series(1, %(count)s) n
"""
PAUSES = """
    INSERT INTO workbell_pauses (tenant, queue, job, created_at)
    SELECT 'default', 'q' || n, 'other', %(now)s FROM generate_series(1, 2000) n
"""


@pytest.fixture
def store(postgres_server: PostgresServer) -> Iterator[PostgresStore]:
    url = postgres_server.create_database("workbell_template")
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in (LANES, RUNS, HISTORY, LIMITS, PAUSES):
            connection.execute(statement, {"now": START, "count": MANY})
        connection.execute("VACUUM ANALYZE")
    store = PostgresStore(url)
    yield store
    store.close()
    postgres_server.drop_database(url)


def values_of(name: str) -> dict[str, Any]:
    numbers = list(range(100, 100 * (BATCH + 1), 100))
    match name:
        case "running_within":
            keyed = [(n, "key", "default", "work", f"k{n}", 9) for n in numbers]
            kinds = [(n, kind, "default", "another", None, 9) for n, kind in enumerate(("no key", "job", "scattered"))]
            return bind_values({"rows": Rows(COUNTED, [*keyed, *kinds, (9, "tenant", "another", "", None, 9)])})
        case "queued_runs":
            return bind_values({"rows": Rows(("lane", "rank"), [(n, 0) for n in numbers]), "most": 5, "now": START})
        case "started_now":
            return bind_values({"rows": Rows(("id", "lane"), [(n, n) for n in numbers]), "worker": "w", "now": START})
        case "as_many_started":
            rows = Rows(("id", "lane", "before"), [(n, n, 1) for n in numbers])
            return bind_values({"rows": rows, "worker": "w", "now": START})
        case "note_starts":
            noted = [(n, n, -1, "default", "work", f"k{n}", "[[1,", "]]", 0) for n in numbers]
            return bind_values({"rows": Rows(NOTED, noted), "worker": "w", "now": START})
        case "hold_limits":
            return bind_values({"rows": Rows(("id", "starts"), [(n, "[]") for n in numbers])})
        case "survey":
            return {"after": -1, "limit": 500}
        case "keyed_lanes":
            return {"after": 5, "limit": 1000}
        case "delete_lanes":
            return {"ids": numbers, "before": after(5)}
        case "limits":
            return {"after": 5, "limit": 1000}
        case _:
            return {"ids": numbers, "before": after(5)}


HOT = (
    "running_within queued_runs started_now as_many_started note_starts hold_limits free_limits limit_starts limits "
    "survey keyed_lanes delete_lanes find_lanes"
).split()


def test_no_statement_reads_a_table_in_full(store: PostgresStore) -> None:
    conninfo = store.calls.conninfo
    faults = {}
    for name in HOT:
        for generic in (False, True):
            plan = explain(conninfo, name, values_of(name), generic=generic)
            full = {node["Relation Name"] for node in _walk(json.loads(plan.text)) if _reads_in_full(node)}
            if full:
                faults[name, "generic" if generic else "custom"] = full
    assert faults == {}
    counted = explain(conninfo, "running_within", values_of("running_within"))
    assert counted.rows == BATCH + 4
    assert counted.indexes >= {"workbell_lanes_job", "workbell_runs_running"}


def test_a_limited_claim_works_with_many_keys(store: PostgresStore) -> None:
    """The real statements, one after the other, on the same rows."""
    store.runs.add([request(lane_key=f"new{n}") for n in range(20)])
    picked = claim_within(store, Limits(concurrency=1, concurrency_key="k"), 30, at=9)
    assert len(picked) == 30
    (limit,) = limits_on(Limits(concurrency=1, concurrency_key="k"), Lane("default", "default", "work", None, "k100"))
    assert store.limits.uses([limit])[limit.id].running == 1
