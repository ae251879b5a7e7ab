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
from workbell.stores.postgres.arrays import array_text
from workbell.stores.postgres.store import PostgresStore
from workbell.testing.contracts.making import START, after, request
from workbell.testing.contracts.store.limiting import take

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
        case "running_of_keys":
            columns = [numbers, ["default"] * BATCH, ["work"] * BATCH, [f"k{n}" for n in numbers]]
            return dict(zip(("id", "tenant", "job", "key"), map(array_text, columns), strict=True))
        case "running_scattered" | "running_without_key":
            return {"tenant": "default", "job": "work"}
        case "running_of_job":
            return {"tenant": "default", "job": "another"}
        case "survey":
            return {"after": -1, "limit": 500}
        case "keyed_lanes":
            return {"after": 5, "limit": 1000}
        case "delete_lanes":
            return {"ids": numbers, "before": after(5)}
        case "note_starts":
            columns = [numbers, ["default"] * BATCH, ["work"] * BATCH, ["k"] * BATCH, ["[]"] * BATCH, [START] * BATCH]
            names = ("id", "tenant", "job", "key", "starts", "updated_at")
            return dict(zip(names, map(array_text, columns), strict=True))
        case "limits":
            return {"after": 5, "limit": 1000}
        case _:
            return {"ids": numbers, "before": after(5)}


HOT = (
    "running_of_keys running_scattered running_without_key running_of_job survey keyed_lanes delete_lanes find_lanes "
    "lock_limits limit_starts note_starts limits"
).split()
# A generic plan for a job that is one of many must think of the job that has all these lanes; it looks dear, so
# PostgreSQL does not choose it.
ALLOWED = {("running_of_job", True): {"workbell_lanes"}}


def test_no_statement_reads_a_table_in_full(store: PostgresStore) -> None:
    conninfo = store.calls.conninfo
    faults = {}
    for name in HOT:
        for generic in (False, True):
            plan = explain(conninfo, name, values_of(name), generic=generic)
            full = {node["Relation Name"] for node in _walk(json.loads(plan.text)) if _reads_in_full(node)}
            if full - ALLOWED.get((name, generic), set()):
                faults[name, "generic" if generic else "custom"] = full
    assert faults == {}
    counted = explain(conninfo, "running_of_keys", values_of("running_of_keys"))
    assert counted.rows == BATCH
    assert counted.indexes >= {"workbell_lanes_job", "workbell_runs_running"}


def test_a_limited_claim_works_with_many_keys(store: PostgresStore) -> None:
    """The real statements, one after the other, on the same rows."""
    store.runs.add([request(lane_key=f"new{n}") for n in range(20)])
    picked = take(store, Limits(concurrency=1, concurrency_key="k"), 30, at=9)
    assert len(picked) == 30
    (limit,) = limits_on(Limits(concurrency=1, concurrency_key="k"), Lane("default", "default", "work", None, "k100"))
    assert store.limits.uses([limit])[limit.id].running == 1
