"""Thousands of tokens, notifications, audit entries and tallies: each statement reads the rows it is about.

PostgreSQL is asked with EXPLAIN ANALYZE right after ANALYZE, with plans for these values and with generic ones.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.support.plans import explain
from tests.support.postgres import PostgresServer
from workbell.model.clock import EPOCH
from workbell.model.run import Lane
from workbell.stores.postgres.store import PostgresStore
from workbell.stores.reports.recent import OLDEST
from workbell.stores.tallies.tallies import KEY
from workbell.testing.contracts.making import START, after

MANY = 100_000 if os.environ.get("WORKBELL_SOAK") else 6_000
LIMIT = 20
AIMED = Lane("t1", "default", "work", "press")
# A tenth of the notifications are everybody's, one in twenty is Ada's, who has read most of them; as has nobody else.
ROWS = """
    INSERT INTO workbell_tokens (id, hash, tenant, kind, created_at, expires_at, revoked_at)
    SELECT gen_random_uuid(), 'h' || n, 't' || n %% 4, 'ticket', %(now)s, %(now)s::timestamptz + n * interval '1 m',
        CASE WHEN n %% 2 = 0 THEN %(now)s::timestamptz + n * interval '1 m' END FROM generate_series(1, %(count)s) n;
    INSERT INTO workbell_audit (id, tenant, at, actor, action)
    SELECT gen_random_uuid(), 't' || n %% 4, %(now)s::timestamptz + n * interval '1 m', 'ada', 'runs.cancel'
    FROM generate_series(1, %(count)s) n;
    INSERT INTO workbell_answers (tenant, key, fingerprint, created_at, until)
    SELECT 't' || n %% 4, 'k' || n, 'f', %(now)s, %(now)s::timestamptz + n * interval '1 m'
    FROM generate_series(1, %(count)s) n;
    INSERT INTO workbell_notifications (id, tenant, user_id, data, created_at)
    SELECT gen_random_uuid(), 't' || n %% 2, CASE WHEN n %% 20 < 2 THEN NULL WHEN n %% 20 = 3 THEN 1 ELSE n END,
        repeat('x', 100), %(now)s::timestamptz + n * interval '1 m' FROM generate_series(1, %(count)s) n;
    INSERT INTO workbell_reads (tenant, user_id, notification, at)
    SELECT tenant, COALESCE(user_id, 1), id, %(now)s FROM workbell_notifications
    WHERE user_id IS NOT NULL OR created_at < %(now)s::timestamptz + %(count)s / 2 * interval '1 m';
    INSERT INTO workbell_tallies (minute, tenant, queue, job, status, count, seconds, wait, buckets)
    SELECT %(now)s::timestamptz + n / 10 * interval '1 m', 't' || tenant, 'q', 'j' || n %% 10, 'succeeded', 1, 1, 1,
        '[]' FROM generate_series(1, %(count)s) n, generate_series(1, 5) tenant;
    INSERT INTO workbell_lanes (id, tenant, queue, job, target, created_at)
    SELECT n, 't' || n %% 4, 'q' || n, 'work', CASE WHEN n %% 20 = 0 THEN 'a' || n END, %(now)s
    FROM generate_series(1, %(count)s) n;
    INSERT INTO workbell_lanes (id, tenant, queue, job, target, created_at)
    VALUES (%(lane)s, 't1', 'default', 'work', 'press', %(now)s);
    INSERT INTO workbell_runs (id, lane, status, rank, scheduled_for, created_at, updated_at)
    SELECT gen_random_uuid(), CASE WHEN n %% 3 = 0 THEN %(lane)s ELSE n END, 'queued', n %% 2, %(now)s, %(now)s, %(now)s
    FROM generate_series(1, %(count)s) n;
    INSERT INTO workbell_history (id, lane, status, rank, scheduled_for, created_at, updated_at, attempt, failures,
        losses, crashes, token, user_id, finished_at, remove_at)
    SELECT gen_random_uuid(), CASE WHEN n %% 3 = 0 THEN %(lane)s ELSE n END, 'succeeded', 0, %(now)s, %(now)s, %(now)s,
        1, 0, 0, 0, 1, 0, %(now)s, %(now)s FROM generate_series(1, %(count)s) n;
"""
HALF = "80000000-0000-0000-0000-000000000000"
LATER = after(60 * MANY // 2)
LAST = after(60 * (MANY // 10 - 60))  # of the tallies, an hour
ONE = dict(zip(KEY, ([after(60)], ["t1"], ["q"], ["j1"], ["succeeded"]), strict=True))
OVER = {"shortly_before": LATER, "before": LATER, "long_before": START, "limit": LIMIT}
# What each statement is asked, and the index that must serve it.
WANTED: dict[str, tuple[str, dict[str, Any]]] = {
    "find_token": ("workbell_tokens_hash_key", {"hash": "h7"}),
    "tokens_with_ids": ("workbell_tokens_pkey", {"ids": [HALF, OLDEST]}),
    "redeem_token": ("workbell_tokens_hash_key", {"hash": "h7", "now": START}),
    "delete_expired_tokens": ("workbell_tokens_expiry", OVER),
    "delete_revoked_tokens": ("workbell_tokens_revoked", OVER),
    "list_audit": ("workbell_audit_tenant", {"tenant": "t1", "before": HALF, "limit": LIMIT}),
    "all_audit": ("workbell_audit_pkey", {"before": HALF, "limit": LIMIT}),
    "delete_audit": ("workbell_audit_at", {"before": LATER, "limit": LIMIT}),
    "find_answer": ("workbell_answers_pkey", {"tenant": "t1", "key": "k1"}),
    "delete_answers": ("workbell_answers_until", {"now": LATER, "limit": LIMIT}),
    "list_notifications": (
        "workbell_notifications_user",
        {"tenant": "t1", "user_id": 1, "before": HALF, "limit": LIMIT},
    ),
    "list_unread": ("workbell_notifications_user", {"tenant": "t1", "user_id": 1, "before": HALF, "limit": LIMIT}),
    "new_notifications": ("workbell_notifications_pkey", {"after": HALF, "limit": LIMIT}),
    "delete_notifications": ("workbell_notifications_created", {"before": LATER, "limit": LIMIT, "parts": 5000}),
    "survey_targets": ("workbell_lanes_target", {"tenant": "t1", "targets": ["press", "a21"], "limit": LIMIT}),
    "known_tenants": ("workbell_lanes_", {"after": "t1", "limit": LIMIT}),
    "list_tokens": ("workbell_tokens_tenant", {"tenant": "t1", "after": HALF, "limit": LIMIT}),
    "tokens_of_agent": ("workbell_tokens_agent", {"agent": HALF, "limit": LIMIT}),
    "trace_of_tenant": ("workbell_lanes_", {"name": "nobody"}),
    "totals": ("workbell_tallies_pkey", {"minute": EPOCH}),
    "delete_tallies": ("workbell_tallies_pkey", {"total": EPOCH, "before": LATER, "limit": LIMIT}),
    "queued_lanes": ("workbell_runs_queued", {"after": 99, "limit": LIMIT, "most": LIMIT}),
    "queued_lanes_of_tenant": (
        "workbell_runs_queued",
        {"tenant": "t1", "after": 99, "limit": LIMIT, "most": LIMIT},
    ),
    "running_by_lane": ("workbell_runs_running", {"tenant": "t1"}),
    "scheduled_by_lane": ("workbell_runs_scheduled", {"tenant": "t1", "scan": LIMIT}),
    "waiting_targets": ("workbell_lanes_target", {"tenant": ["t1", "t0"], "target": ["press", "a20"]}),
    "load_of_lanes": (
        "workbell_runs_queued",
        {"tenant": "t1", "every": False, "queues": ["q5"], "most": LIMIT, "after": 99, "limit": LIMIT},
    ),
    "queued_before": ("workbell_runs_queued", {"time": LATER, "lane": 3000, "scan": LIMIT, "limit": LIMIT}),
    "live_retries": ("workbell_runs_retry", {"id": [HALF, OLDEST], "most": LIMIT}),
    "finished_retries": ("workbell_history_retry", {"id": [HALF, OLDEST]}),
    "sum_tallies": (
        "workbell_tallies_tenant",
        {"tenant": "t1", "since": LAST, "until": after(60 * MANY), "step": 300, "job": None, "queue": None},
    ),
    "lanes_of_jobs": ("workbell_history_lane", {"tenant": "t1", "job": ["work"], "most": LIMIT}),
    "lanes_of_newest": ("workbell_history_pkey", {"tenant": "t1", "jobs": ["work"], "scan": LIMIT}),
    "recent_of_lanes": ("workbell_history_lane", {"lane": [AIMED.id, 7], "oldest": [OLDEST, HALF], "limit": LIMIT}),
    "ended_runs": ("workbell_history_pkey", {"ids": [HALF, OLDEST]}),
}
MORE_PAGES = {"list_unread": MANY // 5}  # it passes over what is read


@pytest.fixture
def conninfo(postgres_server: PostgresServer) -> Iterator[str]:
    url = postgres_server.create_database("workbell_template")
    store = PostgresStore(url)
    with psycopg.connect(url, autocommit=True, cursor_factory=psycopg.ClientCursor) as connection:
        connection.execute(ROWS, {"now": START, "count": MANY, "lane": AIMED.id})
        connection.execute("VACUUM ANALYZE")
    yield store.calls.conninfo
    store.close()
    postgres_server.drop_database(url)


def test_each_statement_goes_by_its_index(conninfo: str) -> None:
    """One test, because the rows are built once."""
    faults: dict[tuple[str, bool], Any] = {}
    for name, (index, values) in WANTED.items():
        for generic in (False, True):
            plan = explain(conninfo, name, values, generic=generic)
            by_index = any(used.startswith(index) for used in plan.indexes)
            if plan.read_in_full or not by_index or plan.pages > MORE_PAGES.get(name, 300):
                faults[name, generic] = (plan.read_in_full, plan.indexes, plan.pages, plan.text)
    assert faults == {}
